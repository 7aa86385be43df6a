import { canonicalName, isNameGlob, type NameTable, type ToolEntry, type ToolRef } from '@sallyport/core'

/** What the entries of tools.yaml want tools to be called, by canonical names. Of several wishes the first counts. */
export function collectRenames(entries: readonly ToolEntry[], usual: NameTable): ReadonlyMap<string, string> {
  const renames = new Map<string, string>()
  for (const { key, fields } of entries) {
    if (fields.rename === undefined) continue
    for (const ref of toolsNamed(key, usual)) {
      const name = canonicalName(ref)
      if (!renames.has(name)) renames.set(name, fields.rename)
    }
  }
  return renames
}

/** Those that an entry with this key is about: a bare name counts only where it means one tool. */
function toolsNamed(key: string, usual: NameTable): readonly ToolRef[] {
  const found = usual.find(key)
  if (found.length === 1 || isNameGlob(key)) return found
  const bare = key.startsWith('mcp_') ? usual.find(key.slice('mcp_'.length)) : []
  return bare.length === 1 ? bare : []
}
