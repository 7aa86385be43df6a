import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createBubblewrapDriver } from './bubblewrap.ts'

it.skipIf(process.platform !== 'linux')('tries again whether it works, as long as it does not', async () => {
  const bin = mkdtempSync(join(tmpdir(), 'sallyport-bwrap-'))
  onTestFinished(() => rmSync(bin, { recursive: true }))
  const install = (script: string): void => {
    writeFileSync(join(bin, 'bwrap'), `#!/bin/sh\n${script}\n`)
    chmodSync(join(bin, 'bwrap'), 0o755)
  }
  const driver = createBubblewrapDriver({ environment: { PATH: bin } })
  expect(await driver.probe()).toMatchObject({ ok: false, reason: expect.stringContaining('there is no program') })
  install('echo "bwrap: No permissions to create new namespace" >&2; exit 1')
  expect(await driver.probe()).toMatchObject({ ok: false, reason: expect.stringContaining('No permissions') })
  install('exit 0')
  expect(await driver.probe()).toEqual({ ok: true })
  install('exit 1')
  expect(await driver.probe()).toEqual({ ok: true })
})
