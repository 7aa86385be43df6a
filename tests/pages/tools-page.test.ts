import { describe, expect, it } from 'vitest'
import { policySchema } from '../../packages/gateway/src/config/sections/policy-schema.ts'
import { parseToolsFile, readToolsFile } from '../../packages/gateway/src/governance/tools-file/tools-file.ts'
import { textOf } from '../harness/repository.ts'
import { promise } from '../promises.ts'

const page = textOf('docs/tools-yaml.md')
const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
const rows = [...(page.split('## Fields')[1] ?? '').matchAll(/^\| `(\w+)` \|.*\|(.*)\|$/gm)]

describe(`docs/tools-yaml.md (${promise('GOV-5')})`, () => {
  it('explains every field that an entry may have, and no other', () => {
    const { properties } = policySchema.jsonSchema() as { properties: object }
    const fields = new Set(Object.keys(properties).map(snake))
    expect(rows.map(([, name]) => name).sort()).toEqual([...fields].sort())
  })

  const examples = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = '']) => text)

  it.each(examples)('shows a file that is read without a warning: %#', (text) => {
    expect(readToolsFile(parseToolsFile(text), 'tools.yaml')).toMatchObject({ ok: true, warnings: [] })
  })
})
