import { createHmac, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { SallyportError } from '@sallyport/core'
import { addFile } from '../add-file.ts'
import { keysUnusable } from './key-folder.ts'
import { readPrivateFile } from './private-file.ts'

/** The variable with the master key. If it is missing, the key is in a file of the folder for keys. */
const MASTER_KEY_VARIABLE = 'SALLYPORT_MASTER_KEY'

const FILE_NAME = 'master-key'
const KEY_BYTES = 32

/** The key that encrypts the keys of sessions. */
export interface MasterKey {
  readonly key: Buffer
  /** Names it without revealing it, so that the keys of sessions that another one has encrypted are left alone. */
  readonly id: string
}

export const masterKeyPath = (folder: string): string => join(folder, FILE_NAME)

/** The master key of the environment; `undefined` if it has none. An error never contains the value. */
export function readMasterKey(environment: Readonly<Record<string, string | undefined>>): MasterKey | undefined {
  const value = environment[MASTER_KEY_VARIABLE]
  if (value === undefined) return undefined
  const key = parseKey(value.trim())
  if (key !== undefined) return key
  throw new SallyportError(
    'CONFIG_INVALID',
    `The variable ${MASTER_KEY_VARIABLE} is not a key: expected ${KEY_BYTES} bytes as base64 or as hexadecimal digits.`,
    { hint: `Make one with \`openssl rand -base64 ${KEY_BYTES}\`, or unset the variable.` },
  )
}

/** The master key of the folder; `undefined` if there is none yet. Throws if it cannot be trusted. */
export function findMasterKey(folder: string): MasterKey | undefined {
  const path = masterKeyPath(folder)
  const file = readPrivateFile(path, 'leave')
  if (file.state === 'absent') return undefined
  if ('problem' in file)
    throw keysUnusable(`The file ${path} is not used: it ${file.problem}.`, {
      hint: `Check who wrote it, and restrict it: chmod 600 ${path}. Without it, stored results cannot be read.`,
    })
  if (file.state === 'exposed')
    throw keysUnusable(`The file ${path} is not used: other users can read it, and with it the stored results.`, {
      hint: `If nobody else can have read it, restrict it: chmod 600 ${path}. Otherwise remove it: a new one is created, and earlier results cannot be read any more.`,
    })
  const key = parseKey(file.text.trim())
  if (key !== undefined) return key
  throw keysUnusable(`The file ${path} does not contain a master key.`, {
    hint: 'Restore it from a copy, or move it away: a new one is created, and earlier results cannot be read any more.',
  })
}

/** The same, and creates it if it is missing. Of programs that do so at once, all get the same one. */
export async function openMasterKey(folder: string): Promise<MasterKey> {
  const found = findMasterKey(folder)
  if (found !== undefined) return found
  await addFile(masterKeyPath(folder), `${randomBytes(KEY_BYTES).toString('base64url')}\n`, folder)
  return findMasterKey(folder) ?? openMasterKey(folder)
}

function parseKey(text: string): MasterKey | undefined {
  const key = /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, 'hex') : parseBase64(text)
  if (key?.length !== KEY_BYTES) return undefined
  return { key, id: createHmac('sha256', key).update('sallyport master key').digest('hex').slice(0, 16) }
}

const parseBase64 = (text: string): Buffer | undefined =>
  /^[\w+/-]{43}=?$/.test(text) ? Buffer.from(text, 'base64') : undefined
