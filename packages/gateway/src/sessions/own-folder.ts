import { chmodSync, closeSync, fsyncSync, mkdirSync, openSync, statSync, unlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import { SallyportError } from '@sallyport/core'
import { errnoOf } from './private-file.ts'

/** Makes a folder that only its owner can enter, and closes one that others can. */
export function makeOwnFolder(path: string, onTrouble: (text: string) => void): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  const stats = statSync(path)
  if (process.getuid === undefined) return
  if (stats.uid !== process.getuid())
    throw new SallyportError('STATE_UNUSABLE', `The folder ${path} belongs to another user (uid ${stats.uid}).`, {
      hint: 'Run Sallyport as that user, or choose another state folder with --state.',
    })
  if ((stats.mode & 0o077) === 0) return
  chmodSync(path, 0o700)
  onTrouble(`The folder ${path} was open to other users; it is closed to them now.`)
}

/** False when the file was not there. A removal counts only once the folder is synced: power may fail. */
export function removeDurably(path: string): boolean {
  try {
    unlinkSync(path)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false
    throw error
  }
  const folder = openSync(dirname(path), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
  return true
}

/** Runs file operations in a folder of the state; what fails there is STATE_UNUSABLE. */
export async function onDisk<Result>(folder: string, action: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await action()
  } catch (error) {
    if (error instanceof SallyportError) throw error
    throw new SallyportError('STATE_UNUSABLE', `The folder ${folder} cannot be used (${errnoOf(error)}).`, {
      hint: 'Check that the disk has room and that the folder can be written, or choose another with --state.',
      cause: error,
    })
  }
}
