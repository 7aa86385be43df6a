import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect } from 'vitest'
import { createWorkspace, type Workspace } from '../workspace/workspace.ts'
import { ConnectorError } from './connector-error.ts'

export interface TestWorkspace {
  readonly root: string
  readonly options: { readonly workspace: Workspace }
}

/** A separate workspace for each test. */
export function useTestWorkspace(): TestWorkspace {
  let home = ''
  let workspace: Workspace
  beforeEach(async () => {
    home = await realpath(await mkdtemp(join(tmpdir(), 'connector-')))
    await mkdir(join(home, 'root'))
    workspace = createWorkspace(join(home, 'root'))
  })
  afterEach(() => rm(home, { recursive: true }))
  return {
    get root() {
      return join(home, 'root')
    },
    get options() {
      return { workspace }
    },
  }
}

/** The connector's error, which must not contain any host path. */
export async function expectRefusal(work: Promise<unknown>): Promise<ConnectorError> {
  const error = await work.then(
    (value) => expect.fail(`expected a refusal, got ${JSON.stringify(value)?.slice(0, 200)}`),
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(ConnectorError)
  for (let at: unknown = error; at instanceof Error; at = at.cause) expect(at.message).not.toMatch(/\/tmp|\/proc/)
  return error as ConnectorError
}
