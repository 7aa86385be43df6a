import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT, textOf } from '../harness/repository.ts'
import { AGENT_CLIS } from './clis/clis.ts'
import packages from './packages.json' with { type: 'json' }

const pinned = Object.entries(packages)
const handshakes = readdirSync(join(ROOT, 'tests/fixtures/handshakes'))

describe('the agents that are tested', () => {
  it('are those that can be installed', () => {
    expect(AGENT_CLIS.map(({ id }) => id)).toEqual(pinned.map(([id]) => id))
  })

  it('are in the docs with the versions that were tested, and no others', () => {
    const rows = textOf('docs/agents-tested.md').matchAll(/^\| `([\w-]+)` \| (\S+) \|/gm)
    const documented = [...rows].map(([, id, version]) => [id, version])
    expect(documented).toEqual(pinned.map(([id, { version }]) => [id, version]))
  })

  it.each(pinned)('%s was recorded in the version that is tested, over stdio and over HTTP', (id, { version }) => {
    expect(handshakes).toEqual(expect.arrayContaining([`${id}-${version}.stdio.jsonl`, `${id}-${version}.http.jsonl`]))
  })
})
