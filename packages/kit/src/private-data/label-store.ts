import { resolve } from 'node:path'
import {
  HIGHEST_SENSITIVITY,
  isSensitivity,
  quoteText,
  SallyportError,
  SENSITIVITIES,
  type Sensitivity,
} from '@sallyport/core'
import { ownerFolder } from '../identity/identity.ts'
import type { Label } from './label.ts'
import { MAX_NAME_LENGTH } from './label-record.ts'
import { OwnerLabel } from './owner-label.ts'

/** Whose label it is: one session of one user. */
export interface LabelOwner {
  readonly userId: string
  readonly sessionId: string
}

/** The labels below one folder, shared by any number of processes. */
export interface LabelStore {
  /** Resolves once it is durable, with the label that then holds. Never lowers anything. */
  raise(owner: LabelOwner, dataset: string, sensitivity: Sensitivity): Promise<Label>
  /** The label as it is now, whoever raised it. Never throws: what cannot be read counts as the strictest. */
  read(owner: LabelOwner): Promise<Label>
  /** Resolves once all that this process raised for the owner is durable; throws where it cannot be made so. */
  settle(owner: LabelOwner): Promise<void>
}

/** The settings of a label store. */
export interface LabelStoreOptions {
  /** Told once of each reason why a label cannot be read in full. Absent: standard error. */
  readonly onDoubt?: (doubt: string) => void
}

/** So many sessions are remembered; the rest is read again when it is asked for. */
const MAX_CACHED_OWNERS = 4096

/** Opens the store of labels in a folder, which several processes may share. */
export function openLabelStore(folder: string, { onDoubt = printDoubt }: LabelStoreOptions = {}): LabelStore {
  return new FolderLabelStore(resolve(folder), onDoubt)
}

class FolderLabelStore implements LabelStore {
  readonly #folder: string
  readonly #onDoubt: (doubt: string) => void
  readonly #owners = new Map<string, OwnerLabel>()
  readonly #reported = new Set<string>()

  constructor(folder: string, onDoubt: (doubt: string) => void) {
    this.#folder = folder
    this.#onDoubt = onDoubt
  }

  async raise(owner: LabelOwner, dataset: string, sensitivity: Sensitivity): Promise<Label> {
    checkDataset(dataset, sensitivity)
    await this.#openLabel(owner).raise({ name: dataset, sensitivity })
    return this.read(owner)
  }

  async read(owner: LabelOwner): Promise<Label> {
    const label = await this.#openLabel(owner).read()
    if (label.doubt !== undefined) this.#report(ownerFolder(this.#folder, owner.userId, owner.sessionId), label.doubt)
    return label
  }

  settle(owner: LabelOwner): Promise<void> {
    return this.#openLabel(owner).settle()
  }

  #openLabel({ userId, sessionId }: LabelOwner): OwnerLabel {
    const folder = ownerFolder(this.#folder, userId, sessionId)
    const label = this.#owners.get(folder) ?? new OwnerLabel(folder)
    // The one used last is last in the map, and forgotten last.
    this.#owners.delete(folder)
    this.#owners.set(folder, label)
    if (this.#owners.size > MAX_CACHED_OWNERS) this.#forgetOldest()
    return label
  }

  #forgetOldest(): void {
    for (const [folder, label] of this.#owners) {
      if (label.hasPendingWrites) continue
      this.#owners.delete(folder)
      return
    }
  }

  #report(folder: string, doubt: string): void {
    const message = `${folder}: ${doubt}. The session counts as ${HIGHEST_SENSITIVITY} until that is mended.`
    if (this.#reported.has(message) || this.#reported.size > MAX_CACHED_OWNERS) return
    this.#reported.add(message)
    this.#onDoubt(message)
  }
}

/** Throws if this is no statement about a dataset. */
export function checkDataset(dataset: unknown, sensitivity: unknown): void {
  if (typeof dataset !== 'string' || dataset === '')
    throw new SallyportError('USAGE', 'A private dataset has no name.', { hint: 'Give a text such as "customers".' })
  if (dataset.length > MAX_NAME_LENGTH)
    throw new SallyportError('USAGE', `The name of a private dataset has ${dataset.length} characters.`, {
      hint: `Expected at most ${MAX_NAME_LENGTH}.`,
    })
  if (!isSensitivity(sensitivity))
    throw new SallyportError('USAGE', `A private dataset has the sensitivity ${describeLevel(sensitivity)}.`, {
      hint: `Expected one of ${SENSITIVITIES.join(', ')}.`,
    })
}

/** Anything may have been given: an object may throw when it is made a text. */
const describeLevel = (given: unknown): string =>
  typeof given === 'string' ? quoteText(given, 40) : given === null ? 'null' : `of type ${typeof given}`

function printDoubt(doubt: string): void {
  console.error(doubt)
}
