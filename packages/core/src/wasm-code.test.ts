import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { expect, it } from 'vitest'
import wabt from 'wabt'

const here = (name: string): string => new URL(name, import.meta.url).pathname

/** The generated file, in the format of the linter. */
function codeFile(constant: string, source: string, code: Uint8Array): string {
  const lines =
    Buffer.from(code)
      .toString('hex')
      .match(/.{1,100}/g) ?? []
  return [
    `/** ${source}, assembled; its head says how. */`,
    `export const ${constant} = [`,
    ...lines.map((line) => `  '${line}',`),
    "].join('')",
    '',
  ].join('\n')
}

it.each([
  ['STRING_SCAN', 'text/string-scan'],
  ['TRIGRAM_SCAN', 'secrets/trigram-scan'],
])('%s is the assembled code of its .wat file', async (constant, name) => {
  const source = `${name}.wat`
  const module = (await wabt()).parseWat(source, readFileSync(here(source), 'utf8'), { simd: true })
  const { buffer } = module.toBinary({})
  module.destroy()
  await expect(codeFile(constant, basename(source), buffer)).toMatchFileSnapshot(`${name}-code.ts`)
})
