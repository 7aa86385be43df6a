import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { findProgram } from './agents.ts'

it('finds a program as the system would: the first executable, in folders with absolute paths', () => {
  const root = mkdtempSync(join(tmpdir(), 'sallyport-path-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const folders = ['folder', 'plain', 'first', 'second'].map((name) => join(root, name))
  for (const folder of folders) mkdirSync(folder)
  const [folder = '', plain = '', first = '', second = ''] = folders.map((path) => join(path, 'claude'))
  mkdirSync(folder)
  for (const file of [plain, first, second]) writeFileSync(file, '#!/bin/sh\n')
  for (const file of [first, second]) chmodSync(file, 0o755)
  const find = (PATH: string | undefined) => findProgram('claude', { environment: { PATH }, platform: 'linux' })
  expect(find([...folders, ''].join(':'))).toBe(first)
  expect(find(`.:${join(root, 'second')}`)).toBe(second)
  expect(find('.::relative')).toBeUndefined()
  expect(find(undefined)).toBeUndefined()
})
