import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { promise } from '../../../tests/promises.ts'
import { AGENT_NAMES, listShownTools } from './agent-names.test-kit.ts'
import { foldName, hashedNames, NameTable, type Naming, plainName, toWireName } from './names.ts'
import { canonicalName, type ToolRef } from './tool.ts'

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')
const tableOf = (refs: readonly ToolRef[], naming: Naming = 'prefixed', hash = digest): NameTable =>
  new NameTable(refs, { naming, digest: hash })
const ref = (path: string): ToolRef => {
  const cut = path.indexOf('/')
  return { server: path.slice(0, cut), tool: path.slice(cut + 1) }
}
const wires = (refs: readonly ToolRef[], naming: Naming = 'prefixed'): readonly (string | undefined)[] => {
  const table = tableOf(refs, naming)
  return refs.map((one) => table.wireName(one))
}
const permutations = (refs: readonly ToolRef[]): readonly (readonly ToolRef[])[] =>
  refs.length < 2
    ? [refs]
    : refs.flatMap((first) => permutations(refs.filter((one) => one !== first)).map((rest) => [first, ...rest]))
const hashOf = (one: ToolRef): string => digest(`${one.server}\n${one.tool}`)

/** Few words, so that clashes of two or more are frequent. */
const serverId = fc.constantFrom('a', 'a-b', 'a-b-a', 'b', 'b-a', '1', 's1')
const likelyTool = fc
  .tuple(fc.array(fc.constantFrom('a', 'b', 'B'), { minLength: 1, maxLength: 3 }), fc.constantFrom('_', '__', '-', '.'))
  .map(([words, gap]) => words.join(gap))
const toolName = fc.oneof(
  { weight: 5, arbitrary: likelyTool },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 80 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('__proto__', 'constructor', 'toString', 'x'.repeat(256), '日本語', ' ', '*'),
  },
)
const anyRef = fc.record({ server: serverId, tool: toolName })
const builtIns = ['read_file', 'list_directory'].map((tool) => ({ server: 'sallyport', tool }))
const anyRefs = fc
  .uniqueArray(anyRef, { selector: canonicalName, maxLength: 30 })
  .map((refs): readonly ToolRef[] => [...builtIns, ...refs])

describe(`wire names (${promise('GW-14')})`, () => {
  it('are server and tool in letters, digits and single underscores', () => {
    expect(wires(['files/read_file', 'my-db/run.all', 'x/getHTTPUrl', '1st/a'].map(ref))).toEqual([
      'files_read_file',
      'my_db_run_all',
      'x_getHTTPUrl',
      's1st_a',
    ])
  })

  it('have a form that every agent leaves unchanged, whatever servers call their tools', () => {
    fc.assert(
      fc.property(anyRefs, (refs) => {
        const table = tableOf(refs)
        expect(table.unnamed).toEqual([])
        for (const one of refs) {
          const wire = table.wireName(one) ?? ''
          expect(wire).toMatch(/^[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*$/)
          expect(wire.length).toBeLessThanOrEqual(50)
          expect(table.resolve(wire)).toEqual(one)
        }
      }),
    )
  })

  it('stay different after folding, and in every agent', () => {
    fc.assert(
      fc.property(anyRefs, (refs) => {
        const names = wires(refs).map(String)
        expect(new Set(names.map(foldName)).size).toBe(refs.length)
        for (const [agent, rules] of Object.entries(AGENT_NAMES)) {
          const seen = listShownTools(rules, names)
          expect(new Set(seen.map(({ shown }) => foldName(shown))).size, agent).toBe(refs.length)
        }
      }),
    )
  })

  it('never move to another tool when servers come or go, or when a server changes its tools', () => {
    fc.assert(
      fc.property(anyRefs, fc.array(anyRef, { maxLength: 20 }), (some, further) => {
        const before = tableOf(some)
        const after = tableOf([...further, ...some])
        for (const one of some) {
          const meant = after.resolve(before.wireName(one) ?? '')
          expect(meant === undefined || canonicalName(meant) === canonicalName(one)).toBe(true)
        }
        for (const one of some) {
          const meant = before.resolve(after.wireName(one) ?? '')
          expect(meant === undefined || canonicalName(meant) === canonicalName(one)).toBe(true)
        }
      }),
    )
  })

  it('do not depend on the order of the servers', () => {
    fc.assert(
      fc.property(anyRefs, (refs) => {
        expect(wires([...refs].reverse()).toReversed()).toEqual(wires(refs))
      }),
    )
  })

  it('are not lost to a tool that only some clients see', () => {
    const [shared, revealed] = [
      { server: 'a', tool: 'read-file' },
      { server: 'a', tool: 'read_file' },
    ]
    const isRevealed = (ref: ToolRef): boolean => ref === revealed
    const table = new NameTable([revealed, shared], { naming: 'prefixed', digest, isRevealed })
    expect(table.wireName(shared)).toBe('a_read_file')
    expect(table.wireName(revealed)).toMatch(/^a_read_file_\w+/)
  })

  it('get a hash for every tool of a clash, so that no tool keeps an ambiguous name', () => {
    const [first, second] = ['git/hub_search', 'git-hub/search'].map(ref) as [ToolRef, ToolRef]
    expect(wires([first, second])).toEqual([
      `git_hub_search_${hashOf(first).slice(0, 8)}`,
      `git_hub_search_${hashOf(second).slice(0, 8)}`,
    ])
    expect(wires([second])).toEqual(['git_hub_search'])
  })

  it('are lost to all tools that claim the same name, the third as well as the first', () => {
    const refs = ['a/b_c', 'a-b/c', 'a/b.c', 'a-b-c/x', 'a/b_c_x'].map(ref)
    const names = wires(refs)
    expect(names).toEqual(refs.map((one, index) => `a_b_c_${index < 3 ? '' : 'x_'}${hashOf(one).slice(0, 8)}`))
    expect(wires(refs.toReversed()).toReversed()).toEqual(names)
  })

  it('cannot be taken over by a tool with the hashed name of another', () => {
    const victim = ref('git-hub/search')
    const rival = ref('git/hub_search')
    const thief = ref(`git/hub_search_${hashOf(victim).slice(0, 8)}`)
    const before = tableOf([rival, victim]).wireName(victim) ?? ''
    const after = tableOf([thief, rival, victim])
    expect(after.resolve(before)).toBeUndefined()
    expect(after.unnamed).toEqual([])
    expect(new Set([thief, rival, victim].map((one) => after.wireName(one))).size).toBe(3)
  })

  it('survive a tool whose short hash was made to collide with another', () => {
    const [victim, forged] = ['a-b/c', 'a/b_c'].map(ref) as [ToolRef, ToolRef]
    const hash = (text: string): string => `deadbeef${digest(text)}`
    const table = tableOf([forged, victim], 'prefixed', hash)
    expect(table.unnamed).toEqual([])
    expect(table.resolve('a_b_c_deadbeef')).toBeUndefined()
    expect(table.wireName(victim)).toMatch(/^a_b_c_deadbeef[0-9a-f]{8}$/)
    expect(table.wireName(forged)).not.toBe(table.wireName(victim))
  })

  it('leave a tool unnamed, and report it, only if even the long hashes are equal', () => {
    const refs = ['a-b/c', 'a/b_c', 'a/d'].map(ref)
    const table = tableOf(refs, 'prefixed', () => '0'.repeat(64))
    expect(table.unnamed).toEqual(refs.slice(0, 2))
    expect(table.wireName(ref('a/d'))).toBe('a_d')
    expect(table.resolve('a_b_c')).toBeUndefined()
  })

  it('preserve the readable beginning of a too long name', () => {
    const long = ref(`files/${'read_'.repeat(20)}`)
    expect(wires([long])).toEqual([`files_${'read_'.repeat(7)}${hashOf(long).slice(0, 8)}`])
  })

  it('are the server and a hash if the tool has no usable letter', () => {
    const tool = ref('files/日本語')
    expect(wires([tool])).toEqual([`files_${hashOf(tool).slice(0, 8)}`])
  })

  it(`never let a server take the name of a built-in tool (${promise('GW-2')})`, () => {
    const own = ref('sallyport/read_file')
    const thief = ref('sallyport-read/file')
    for (const refs of [
      [own, thief],
      [thief, own],
    ]) {
      const table = tableOf(refs)
      expect(table.resolve('sallyport_read_file')).toEqual(own)
      expect(table.wireName(thief)).toBe(`sallyport_read_file_${hashOf(thief).slice(0, 8)}`)
    }
  })

  it('are looked up exactly, so that inherited object keys find nothing', () => {
    const table = tableOf([ref('a/b')])
    for (const key of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '']) {
      expect(table.resolve(key)).toBeUndefined()
      expect(table.find(key)).toEqual([])
    }
  })

  it('count a duplicate tool once', () => {
    const table = tableOf([ref('a/b'), ref('a/b')])
    expect(table.wireName(ref('a/b'))).toBe('a_b')
    expect(table.unnamed).toEqual([])
  })

  it('are assigned quickly to thousands of clashing tools', { timeout: 10_000 }, () => {
    const refs = Array.from({ length: 20_000 }, (_, index) =>
      ref(`a/${'_.'.repeat(index % 100)}${'.'.repeat(index / 100)}x`),
    )
    expect(tableOf(refs).unnamed).toEqual([])
  })
})

describe('the forms of a name', () => {
  it.each([
    ['read_file', 'read_file'],
    ['Read.File', 'read_file'],
    ['read__file', 'read_file'],
    ['read-', 'read_'],
    ['_read', '_read'],
    ['日本', '_'],
    ['a1', 'a1'],
    ['a_b_', 'a_b_'],
    ['', ''],
  ])('fold: %j becomes %j', (name, folded) => {
    expect(foldName(name)).toBe(folded)
  })

  it.each([
    ['a', 'b', 'a_b'],
    ['a.b', '.c.', 'a_b_c'],
    ['1', '2', 's1_2'],
    ['a_', '_b', 'a_b'],
    ['_a', 'b', 'a_b'],
    ['日本', 'x', 'x'],
    ['日本', '1', 's1'],
  ])('plain: %s and %s are %s', (server, tool, name) => {
    expect(plainName({ server, tool })).toBe(name)
  })

  it('hashed: short and long, at most fifty characters, without a double underscore', () => {
    const [short = '', long = ''] = hashedNames(ref(`a/${'b'.repeat(80)}`), digest)
    const hash = hashOf(ref(`a/${'b'.repeat(80)}`))
    expect(short).toBe(`a_${'b'.repeat(39)}_${hash.slice(0, 8)}`)
    expect(long).toBe(`a_${'b'.repeat(31)}_${hash.slice(0, 16)}`)
    expect(hashedNames(ref(`a/${'b'.repeat(38)}_c`), digest)[0]).toMatch(/^a_b{38}_[0-9a-f]{8}$/)
    expect(hashedNames(ref('a/b'), digest)).toHaveLength(4)
  })

  it('chosen: by the rules of all names, and undefined if nothing is left or it is too long', () => {
    expect(toWireName('My Tool!')).toBe('My_Tool')
    expect(toWireName('9 lives')).toBe('s9_lives')
    expect([toWireName(''), toWireName('日本'), toWireName('x'.repeat(51))]).toEqual([undefined, undefined, undefined])
    expect(toWireName('x'.repeat(50))).toBe('x'.repeat(50))
  })

  it('of exactly fifty characters need no hash, of one more they do', () => {
    expect(wires([ref(`a/${'b'.repeat(48)}`)])).toEqual([`a_${'b'.repeat(48)}`])
    expect(wires([ref(`a/${'b'.repeat(49)}`)])[0]).toMatch(/_[0-9a-f]{8}$/)
  })
})

describe('names that people choose', () => {
  const renames = (wishes: Readonly<Record<string, string>>, refs: readonly ToolRef[]): NameTable => {
    const byName = Object.entries(wishes).map(([path, wish]) => [canonicalName(ref(path)), wish] as const)
    return new NameTable(refs, { naming: 'prefixed', digest, renames: new Map(byName) })
  }
  const [read, write, other] = ['files/read', 'files/write', 'x/get'].map(ref) as [ToolRef, ToolRef, ToolRef]

  it('are used on the wire', () => {
    const table = renames({ 'files/read': 'Open it' }, [read, write])
    expect([table.wireName(read), table.wireName(write)]).toEqual(['Open_it', 'files_write'])
    expect(table.resolve('Open_it')).toEqual(read)
    expect(table.resolve('files_read')).toBeUndefined()
  })

  it('do not free the original name for another tool', () => {
    const thief = ref('files-read/x')
    const heir = ref('fil/es_read')
    const table = renames({ 'files/read': 'open' }, [read, thief, heir, ref('files_/read')])
    expect(table.resolve('files_read')).toBeUndefined()
    expect(table.wireName(read)).toBe('open')
  })

  it('are lost by both tools if they are equal, and each tool has its original name again', () => {
    const table = renames({ 'files/read': 'open', 'files/write': 'Open' }, [read, write])
    expect([table.wireName(read), table.wireName(write)]).toEqual(['files_read', 'files_write'])
    const taken = renames({ 'files/read': 'x_get' }, [read, other])
    expect(taken.wireName(read)).toBe('files_read')
    expect(taken.wireName(other)).toBe(`x_get_${hashOf(other).slice(0, 8)}`)
    const odd = ref('files/日本')
    const hashed = renames({ 'files/read': 'open', 'files/日本': 'open' }, [read, odd])
    expect(hashed.wireName(odd)).toBe(`files_${hashOf(odd).slice(0, 8)}`)
    expect(hashed.unnamed).toEqual([])
  })

  it('are ignored if nothing usable is left of them', () => {
    expect(renames({ 'files/read': '日本' }, [read]).wireName(read)).toBe('files_read')
  })

  it('never take the name of a built-in tool, and never rename one', () => {
    const own = ref('sallyport/read_file')
    const table = renames({ 'files/read': 'sallyport_read_file' }, [read, own])
    expect(table.resolve('sallyport_read_file')).toEqual(own)
    expect(table.wireName(read)).toBe('files_read')
    const thief = ref('sallyport-read/file')
    expect(renames({ 'sallyport-read/file': 'open' }, [own, thief]).wireName(own)).toBe('sallyport_read_file')
  })

  it('are lost if they were the original name of another renamed tool, in any order', () => {
    const twin = ref('files/read.')
    const hashed = `files_read_${hashOf(read).slice(0, 8)}`
    const kept = { 'files/read': 'files_read', 'files/read.': 'open' }
    const swapped = { 'files/read': 'x_get', 'x/get': 'get', 'files/read.': 'open' }
    for (const [wishes, refs] of [
      [kept, [read, twin]],
      [swapped, [read, other, twin]],
    ] as const)
      for (const order of permutations(refs)) expect(renames(wishes, order).wireName(read)).toBe(hashed)
  })

  it('do not depend on the order of the tools', () => {
    const wish = fc.constantFrom('a', 'a_b', 'b', 'b_a', 'sallyport_read_file', 'x')
    fc.assert(
      fc.property(anyRefs, fc.array(wish, { maxLength: 12 }), (refs, wishes) => {
        const wanted = new Map(wishes.map((one, at) => [canonicalName(refs[at % refs.length] as ToolRef), one]))
        const named = (order: readonly ToolRef[]): readonly (string | undefined)[] => {
          const table = new NameTable(order, { naming: 'prefixed', digest, renames: wanted })
          return refs.map((one) => table.wireName(one))
        }
        const names = named(refs)
        expect(named(refs.toReversed())).toEqual(names)
        expect(new Set(names.map((name) => foldName(name ?? ''))).size).toBe(refs.length)
      }),
      { numRuns: 500 },
    )
  })
})

describe(`names after mcp_ (${promise('GW-14')})`, () => {
  it('are the usual ones after mcp_, also those of the gateway', () => {
    const refs = ['files/read_file', 'my-db/run.all', '1st/a', 'sallyport/read_file'].map(ref)
    expect(wires(refs, 'mcp')).toEqual([
      'mcp_files_read_file',
      'mcp_my_db_run_all',
      'mcp_1st_a',
      'mcp_sallyport_read_file',
    ])
  })

  it('have the same form, length and uniqueness, whatever servers call their tools', () => {
    fc.assert(
      fc.property(anyRefs, (refs) => {
        const table = tableOf(refs, 'mcp')
        const names = refs.map((one) => table.wireName(one) ?? '')
        expect(table.unnamed).toEqual([])
        for (const name of names) expect(name).toMatch(/^mcp(_[A-Za-z0-9]+)+$/)
        expect(Math.max(...names.map((name) => name.length))).toBeLessThanOrEqual(50)
        expect(new Set(names.map(foldName)).size).toBe(refs.length)
      }),
    )
  })

  it('end with a hash if they clash or are too long', () => {
    const long = ref(`files/${'x'.repeat(60)}`)
    expect(wires([long], 'mcp')).toEqual([`mcp_files_${'x'.repeat(31)}_${hashOf(long).slice(0, 8)}`])
    const [one, other] = ['a-b/c', 'a/b_c'].map(ref) as [ToolRef, ToolRef]
    expect(wires([one, other], 'mcp')).toEqual([one, other].map((each) => `mcp_a_b_c_${hashOf(each).slice(0, 8)}`))
  })

  it('are found in every form that people type', () => {
    const table = tableOf(['files/read', 'db/query'].map(ref), 'mcp')
    for (const typed of ['mcp_db_query', 'mcp__db__query', 'db/query', 'query', 'mcp_db_*', 'db/*'])
      expect(table.find(typed), typed).toEqual([ref('db/query')])
  })
})

describe(`bare names (${promise('GW-14')})`, () => {
  it('are the unchanged names of the only server, beside the prefixed built-in tools', () => {
    const refs = ['sallyport/read_file', 'x/Read.File', 'x/read-file', 'x/日本'].map(ref)
    expect(wires(refs, 'bare')).toEqual(['sallyport_read_file', 'Read.File', 'read-file', '日本'])
  })

  it('are not given to a tool that an agent could confuse with a built-in tool', () => {
    const table = tableOf(['x/Sallyport-Read.file', 'sallyport/read_file'].map(ref), 'bare')
    expect(table.unnamed).toEqual([ref('x/Sallyport-Read.file')])
    expect(table.resolve('sallyport_read_file')).toEqual(ref('sallyport/read_file'))
  })

  it('are given to no tool if two servers claim the same', () => {
    const refs = ['x/same', 'y/same', 'y/other'].map(ref)
    expect(tableOf(refs, 'bare').unnamed).toEqual(refs.slice(0, 2))
    expect(wires(refs, 'bare')).toEqual([undefined, undefined, 'other'])
  })
})

describe(`names that people type (${promise('GW-15')})`, () => {
  const refs = ['files/read', 'files/write', 'db/read', 'db/run__all', 'db/what?', 'db/whatever'].map(ref)
  let table: NameTable
  const found = (typed: string): readonly string[] => table.find(typed).map((one) => `${one.server}/${one.tool}`)

  beforeEach(() => {
    table = tableOf(refs)
  })

  it('may be canonical, server/tool, the wire name or a bare name', () => {
    for (const typed of ['mcp__db__run__all', 'db/run__all', 'db_run_all', 'run__all']) {
      expect(found(typed), typed).toEqual(['db/run__all'])
    }
  })

  it('may be globs over each of these', () => {
    expect(found('files/*')).toEqual(['files/read', 'files/write'])
    expect(found('mcp__*__read')).toEqual(['files/read', 'db/read'])
    expect(found('*_write')).toEqual(['files/write'])
    expect(found('wr?te')).toEqual(['files/write'])
    expect(found('*')).toHaveLength(refs.length)
  })

  it('match the tool with this wire name first', () => {
    const bare = tableOf(['x/x/y', 'x/y'].map(ref), 'bare')
    expect(bare.find('x/y')).toEqual([{ server: 'x', tool: 'x/y' }])
  })

  it('match a tool exactly if its own name looks like a glob', () => {
    expect(found('db/what?')).toEqual(['db/what?'])
    expect(found('what?')).toEqual(['db/what?'])
    const alike = tableOf(['db/whats', 'db/what?'].map(ref))
    for (const typed of ['db/what?', 'what?', 'mcp__db__what?']) expect(alike.find(typed)).toEqual([ref('db/what?')])
  })

  it('are refused if they match several tools, with a spelling for each', () => {
    expect(() => table.findOne('read')).toThrow('"read" names 2 tools: files/read, db/read.')
    expect(() => table.findOne('*')).toThrow(/names 6 tools: (?:[^,]+, ){5}…\.$/)
    const five = tableOf(refs.slice(0, 5))
    expect(() => five.findOne('*')).toThrow(/names 5 tools: (?:[^,]+, ){4}db\/what\?\.$/)
    expect(() => table.findOne('read')).toThrow(
      expect.objectContaining({ code: 'NAME_AMBIGUOUS', hint: 'Write it as server/tool.' }),
    )
  })

  it('are refused if they match no tool, with the most similar name', () => {
    expect(() => table.findOne('files/raed')).toThrow('There is no tool "files/raed". Did you mean "files/read"?')
    expect(() => table.findOne('db/*nothing')).toThrow(
      expect.objectContaining({ code: 'TOOL_UNKNOWN', hint: 'See `sallyport tools` for all of them.' }),
    )
    expect(() => table.findOne('raed')).toThrow('Did you mean "read"?')
    expect(() => table.findOne('db_run_al')).toThrow('Did you mean "db_run_all"?')
    expect(table.findOne('write')).toEqual(ref('files/write'))
  })
})
