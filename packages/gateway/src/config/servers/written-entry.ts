import { createHash } from 'node:crypto'
import { didYouMean, isJsonObject, type JsonObject, quoteText, SallyportError } from '@sallyport/core'
import type { LocatedNode } from '../reading/located-tree.ts'
import type { ServerChange } from './edit-servers.ts'
import { restoreMasked } from './masked-entry.ts'
import { isServersKey } from './splice-servers.ts'
import { toPlainValue } from './written-servers.ts'

const listEntries = (root: LocatedNode) => {
  const section = root.kind === 'map' ? root.entries.find(({ key }) => isServersKey(key))?.node : undefined
  return section?.kind === 'map' ? section.entries : []
}

/** An entry of the file, as it is written. */
export function findWrittenEntry(root: LocatedNode, id: string) {
  const found = listEntries(root).find(({ key }) => key === id)
  const entry = found && toPlainValue(found.node)
  return isJsonObject(entry) && found ? { offset: found.offset, entry } : undefined
}

export const versionOf = (entry: JsonObject): string => createHash('sha256').update(JSON.stringify(entry)).digest('hex')

interface EditedFile {
  readonly path: string
  readonly root: LocatedNode
  readonly mask: (text: string) => string
}

/** Secrets that a person saw masked are put back, and an entry that is another one by now is not changed. */
export function resolveChange(change: ServerChange, { path, root, mask }: EditedFile): ServerChange {
  if (change.kind !== 'change') return change
  const entry = findWrittenEntry(root, change.id)?.entry ?? {}
  if (change.was !== undefined && change.was !== versionOf(entry))
    throw new SallyportError('CONFIG_CHANGED', `Somebody else changed ${change.id} in ${path}; nothing was written.`, {
      hint: 'Load its entry again, and make the change to that.',
    })
  return { ...change, fields: restoreMasked(change.fields, entry, mask) }
}

export function unknownEntryError(root: LocatedNode, { path, id }: { readonly path: string; readonly id: string }) {
  const known = listEntries(root).map(({ key }) => key)
  return new SallyportError('SERVER_UNKNOWN', `${path} has no server ${quoteText(id, 100)}.${didYouMean(id, known)}`, {
    hint: 'A server of another file, such as an included one, is changed in that file.',
  })
}
