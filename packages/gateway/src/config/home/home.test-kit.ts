import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SallyportError } from '@sallyport/core'
import { onTestFinished } from 'vitest'
import { type LoadedSettings, loadSettings } from '../load-settings.ts'

/** Creates a folder for the current test. */
export async function temporaryFolder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'sallyport-config-'))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  return path
}

export async function createHome(files: Readonly<Record<string, string | Uint8Array>>): Promise<string> {
  const home = await temporaryFolder()
  for (const [name, content] of Object.entries(files)) await writeFile(join(home, name), content)
  return home
}

export async function loadConfig(
  yaml: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<LoadedSettings> {
  return loadSettings({
    home: await createHome({ 'config.yaml': yaml }),
    environment: { HOME: '/home/ann', ...environment },
  })
}

/** The lines of the error message, without the first one, which has the path of the home. */
export async function loadProblems(
  yaml: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> {
  const error = await catchError(loadConfig(yaml, environment))
  if (error.code !== 'CONFIG_INVALID') throw error
  return error.message
    .split('\n')
    .slice(1)
    .map((line) => line.trim())
}

export async function catchError(promise: Promise<unknown>): Promise<SallyportError> {
  try {
    await promise
  } catch (error) {
    if (error instanceof SallyportError) return error
    throw error
  }
  throw new Error('Expected a failure, but it succeeded.')
}

/** Runs as an ordinary user if the tests run as root, because file permissions do not apply to root. */
export async function asOrdinaryUser<Value>(work: () => Promise<Value>): Promise<Value> {
  if (process.getuid?.() !== 0 || process.seteuid === undefined) return work()
  process.seteuid(65_534)
  try {
    return await work()
  } finally {
    process.seteuid(0)
  }
}
