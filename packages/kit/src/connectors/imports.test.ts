import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { promise } from '../../../../tests/promises.ts'

const PACKAGE = fileURLToPath(new URL('../..', import.meta.url))

/** Prints the URL of every loaded module to standard error. */
const WITNESS = `
  import { register } from 'node:module'
  register('data:text/javascript,' + encodeURIComponent(\`
    import { writeSync } from 'node:fs'
    export async function load(url, context, next) {
      writeSync(2, 'LOADED ' + url + '\\\\n')
      return next(url, context)
    }
  \`))
`

/** A program that uses the connectors, and does not only import them. */
const PROGRAM = `
  import { CsvConnector, FileConnector, JsonConnector } from '@sallyport/kit/connectors'
  import { createRequire } from 'node:module'
  const { createWorkspace } = await import(import.meta.resolve('@sallyport/kit/connectors').replace('connectors/connectors', 'workspace/workspace'))
  const options = { workspace: createWorkspace(process.argv[1]) }
  await FileConnector.write('/workspace/a.txt', 'x', options)
  await CsvConnector.write('/workspace/t.csv', [{ a: 1 }], options)
  await CsvConnector.read('/workspace/t.csv', options)
  await JsonConnector.write('/workspace/d.json', [1], options)
  await JsonConnector.query('/workspace/d.json', '$[*]', options)
  console.log(JSON.stringify(Object.keys(createRequire(import.meta.url).cache)))
`

test(`${promise('KIT-7')} the connectors load no MCP code and no package for models`, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'imports-'))
  try {
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      ['--import', `data:text/javascript,${encodeURIComponent(WITNESS)}`, '--input-type=module', '-e', PROGRAM, folder],
      { cwd: PACKAGE },
    )
    const loaded = [...stderr.matchAll(/^LOADED (\S+)$/gm)].map(([, url]) => url ?? '')
    const files = loaded.filter((url) => url.startsWith('file:')).map((url) => url.replace(/^.*\/packages\//, ''))
    expect(files).toContain('kit/dist/connectors/csv-connector.js')
    const others = files.filter((file) => !/^(?:core|kit)\/dist\//.test(file))
    expect(others, 'a foreign package').toEqual([])
    const rooms = files.filter((file) => /^kit\//.test(file)).map((file) => file.split('/')[2])
    expect(new Set(rooms)).toEqual(
      new Set(['add-file.js', 'connectors', 'identity', 'keys', 'private-data', 'retry-fatal-errors.js', 'workspace']),
    )
    expect(JSON.parse(stdout)).toEqual([])
  } finally {
    await rm(folder, { recursive: true })
  }
})
