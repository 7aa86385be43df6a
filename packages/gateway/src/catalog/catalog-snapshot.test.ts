import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { createCatalog, tool } from './catalog.test-kit.ts'
import { CatalogSnapshot } from './catalog-snapshot.ts'

const entry = (server: string, ...rest: Parameters<typeof createCatalog>) => ({
  server,
  catalog: createCatalog(...rest),
})
const resources = (...uris: readonly string[]) => ({
  capabilities: { resources: {} },
  resources: uris.map((uri) => ({ uri, name: uri })),
})
const templates = (...uriTemplates: readonly string[]) => ({
  capabilities: { resources: {} },
  resourceTemplates: uriTemplates.map((uriTemplate) => ({ uriTemplate, name: uriTemplate })),
})

describe(`tools and prompts on offer (${promise('GW-19')})`, () => {
  it('are in the order of the configuration, under their wire names, and otherwise as their server defined them', () => {
    const annotated = { ...tool('b.c'), title: 'B', annotations: { readOnlyHint: true }, 'x-own': [1] }
    const { tools } = new CatalogSnapshot(
      [entry('two', [], { tools: [annotated] }), entry('one', ['z', 'a'])],
      'prefixed',
    )
    expect(tools.map(({ wire, server, name }) => [wire, server, name])).toEqual([
      ['two_b_c', 'two', 'b.c'],
      ['one_z', 'one', 'z'],
      ['one_a', 'one', 'a'],
    ])
    expect(tools[0]).toMatchObject({ recordName: 'mcp__two__b.c', isMcp: true })
    expect(tools[0]?.definition).toEqual({ ...annotated, name: 'two_b_c' })
  })

  it('have those of the gateway last with bare names, and before the others otherwise', () => {
    const entries = [entry('sallyport', ['read_file']), entry('one', ['z', 'a'])]
    const wires = (naming: 'bare' | 'mcp') => new CatalogSnapshot(entries, naming).tools.map(({ wire }) => wire)
    expect(wires('bare')).toEqual(['z', 'a', 'sallyport_read_file'])
    expect(wires('mcp')).toEqual(['mcp_sallyport_read_file', 'mcp_one_z', 'mcp_one_a'])
  })

  it('are apart from what only some clients see, which takes no name and no URI from them', () => {
    const revealed = {
      tools: [tool('read_file'), tool('extra')],
      prompts: [{ name: 'more' }],
      resources: [
        { uri: 'a:1', name: 'taken' },
        { uri: 'a:2', name: 'free' },
      ],
      resourceTemplates: [{ uriTemplate: 'b:{id}', name: 'items' }],
    }
    const one = entry('one', ['read-file'], { ...resources('a:1'), revealed })
    const snapshot = new CatalogSnapshot([one, entry('two', [], resources())], 'prefixed')
    expect(snapshot.tools.map(({ wire }) => wire)).toEqual(['one_read_file'])
    expect(snapshot.revealed.tools[0]?.wire).toMatch(/^one_read_file_\w/)
    expect(snapshot.revealed.tools[1]).toMatchObject({ wire: 'one_extra', name: 'extra', isRevealed: true })
    expect(snapshot.tool('one_extra')).toBeUndefined()
    expect(snapshot.findTool({ server: 'one', tool: 'extra' })).toBe(snapshot.revealed.tools[1])
    expect(snapshot.prompt('one_more')).toBeUndefined()
    expect(snapshot.revealed.resources.map(({ name }) => name)).toEqual(['a:2'])
    for (const [uri, found] of [
      ['a:2', 'a:2'],
      ['b:7', 'b:7'],
      ['c:1', undefined],
    ] as const) {
      expect(snapshot.resource(uri)).toBeUndefined()
      expect(snapshot.revealedResource(uri, () => true)?.name).toBe(found)
      expect(snapshot.revealedResource(uri, () => false)).toBeUndefined()
    }
    expect(snapshot.template('b:{id}')).toBeUndefined()
    expect(snapshot.template('b:{id}', () => true)?.server).toBe('one')
  })

  it('are found only by their wire names', () => {
    const snapshot = new CatalogSnapshot([entry('one', ['a', '__proto__', 'constructor'])], 'prefixed')
    expect(snapshot.tool('one_a')?.name).toBe('a')
    expect(snapshot.tool('one_proto')?.name).toBe('__proto__')
    expect(snapshot.findTool({ server: 'one', tool: 'constructor' })?.wire).toBe('one_constructor')
    for (const wire of ['a', 'mcp__one__a', '__proto__', 'constructor', '']) expect(snapshot.tool(wire)).toBeUndefined()
    expect(snapshot.findTool({ server: 'other', tool: 'a' })).toBeUndefined()
  })

  it('preserve definition keys such as __proto__', () => {
    const odd = JSON.parse('{"name":"a","inputSchema":{"__proto__":{"x":1}},"__proto__":{"evil":true}}')
    const { tools } = new CatalogSnapshot([entry('one', [], { tools: [odd] })], 'prefixed')
    expect(JSON.stringify(tools[0]?.definition)).toBe(
      '{"name":"one_a","inputSchema":{"__proto__":{"x":1}},"__proto__":{"evil":true}}',
    )
    expect(tools[0]?.definition.evil).toBeUndefined()
  })

  it('are the built-in ones if a server imitates their names', () => {
    const snapshot = new CatalogSnapshot(
      [entry('sallyport-read', ['file']), entry('sallyport', ['read_file'])],
      'prefixed',
    )
    expect(snapshot.tool('sallyport_read_file')).toMatchObject({ server: 'sallyport', isMcp: false })
  })

  it('are separate: a tool and a prompt can have the same name', () => {
    const snapshot = new CatalogSnapshot([entry('one', ['same'], { prompts: [{ name: 'same' }] })], 'prefixed')
    expect(snapshot.tool('one_same')?.kind).toBe('tool')
    expect(snapshot.prompt('one_same')).toMatchObject({ kind: 'prompt', name: 'same', recordName: 'same' })
  })

  it('are named in a warning if they are left out', () => {
    const leftOut = [{ name: 'bad', reason: 'its inputSchema is not an object' }]
    const snapshot = new CatalogSnapshot([entry('x', ['same'], { leftOut }), entry('y', ['same'])], 'bare')
    expect(snapshot.tools).toEqual([])
    expect(snapshot.warnings).toEqual([
      'x: "same" cannot be given a unique name and is left out',
      'y: "same" cannot be given a unique name and is left out',
      'x: "bad" is left out: its inputSchema is not an object',
    ])
  })
})

describe(`the owner of a URI (${promise('GW-26')})`, () => {
  it('is the first configured server that lists it, and a warning names the others', () => {
    const snapshot = new CatalogSnapshot(
      [entry('one', [], resources('a://b')), entry('two', [], resources('a://b'))],
      'prefixed',
    )
    expect(snapshot.resource('a://b')?.server).toBe('one')
    expect(snapshot.resources.map(({ definition }) => definition.uri)).toEqual(['a://b', 'sallyport+two:a://b'])
    expect(snapshot.resource('sallyport+two:a://b')).toMatchObject({
      server: 'two',
      name: 'a://b',
      recordName: 'a://b',
    })
    expect(snapshot.resource('sallyport+one:a://b')).toBe(snapshot.resource('a://b'))
    expect(snapshot.warnings).toEqual([
      'two: a://b is already offered by one, which comes first in the configuration; it is listed as sallyport+two:a://b',
    ])
  })

  it('is named by an address for equal templates too', () => {
    const entries = ['one', 'two'].map((server) => entry(server, [], templates('db://{table}')))
    const snapshot = new CatalogSnapshot(entries, 'prefixed')
    expect(snapshot.templates.map(({ definition }) => definition.uriTemplate)).toEqual([
      'db://{table}',
      'sallyport+two:db://{table}',
    ])
    expect(snapshot.template('sallyport+two:db://{table}')).toMatchObject({ server: 'two', name: 'db://{table}' })
    expect(snapshot.resource('db://users')?.server).toBe('one')
    expect(snapshot.resource('sallyport+two:db://users')).toMatchObject({ server: 'two', name: 'db://users' })
    for (const uri of ['sallyport+three:db://users', 'sallyport+two:x', 'sallyport+two', 'sallyport+:db://users'])
      expect(snapshot.resource(uri), uri).toBeUndefined()
  })

  it('cannot be a server that lists URIs or templates in the scheme of our addresses', () => {
    const hostile = {
      ...resources('sallyport+docs:a://b', 'sallyport+evil:x', 'x'),
      ...{ resourceTemplates: [{ uriTemplate: '{+all}', name: 'all' }] },
    }
    const entries = [entry('evil', [], hostile), entry('docs', [], resources('x', 'a://b'))]
    const snapshot = new CatalogSnapshot(entries, 'prefixed')
    expect(snapshot.resource('sallyport+docs:a://b')).toMatchObject({ server: 'docs', name: 'a://b' })
    expect(snapshot.resource('sallyport+docs:x')).toMatchObject({ server: 'docs', name: 'x' })
    expect(snapshot.resource('sallyport+docs:other')).toBeUndefined()
    expect(snapshot.resources.map(({ wire }) => wire)).toEqual([
      'sallyport+evil:sallyport+docs:a://b',
      'sallyport+evil:sallyport+evil:x',
      'x',
      'sallyport+docs:x',
      'a://b',
    ])
  })

  it('lists a URI once for each server', () => {
    const entries = ['one', 'two'].map((server) => entry(server, [], resources('x', 'x')))
    const snapshot = new CatalogSnapshot(entries, 'prefixed')
    expect(snapshot.resources.map(({ wire }) => wire)).toEqual(['x', 'sallyport+two:x'])
  })

  it('is the server whose template matches, rather than the only server with resources', () => {
    const snapshot = new CatalogSnapshot(
      [entry('one', [], resources('a://b')), entry('two', [], templates('db://{table}/rows/{id}{?page*}'))],
      'prefixed',
    )
    expect(snapshot.resource('db://users/rows/7')?.server).toBe('two')
    expect(snapshot.resource('db://users/rows/7?page=1')?.server).toBe('two')
    expect(snapshot.resource('db://users/7')).toBeUndefined()
    expect(snapshot.template('db://{table}/rows/{id}{?page*}')?.server).toBe('two')
    expect(snapshot.template('db://users')).toBeUndefined()
  })

  it('is the only server with resources if no server lists it', () => {
    const snapshot = new CatalogSnapshot([entry('one', ['a']), entry('two', [], resources('a://b'))], 'prefixed')
    expect(snapshot.resource('c://d')).toMatchObject({ server: 'two', name: 'c://d', kind: 'resource' })
    expect(snapshot.resource('__proto__')?.server).toBe('two')
  })

  it('treats the characters of a template literally', () => {
    const snapshot = new CatalogSnapshot(
      [entry('one', [], templates('a://[x].*?/{p}', 'b://plain')), entry('two', [], resources('z://'))],
      'prefixed',
    )
    expect(snapshot.resource('a://[x].*?/7')?.server).toBe('one')
    expect(snapshot.resource('a://xAB/7')).toBeUndefined()
    expect(snapshot.resource('b://plain')?.server).toBe('one')
  })

  it('matches no character of a URI with two parts of a template', () => {
    const snapshot = new CatalogSnapshot(
      [entry('one', [], templates('t:ab{x}ab{y}ab')), entry('two', [], resources('z://'))],
      'prefixed',
    )
    expect(snapshot.resource('t:ababab')?.server).toBe('one')
    for (const uri of ['t:ab', 't:abab', 't:abbab']) expect(snapshot.resource(uri)).toBeUndefined()
  })

  it('matches every expansion of a template', () => {
    const part = fc.string({ unit: fc.constantFrom('a', 'b', '/'), maxLength: 4 })
    fc.assert(
      fc.property(
        fc.array(part, { minLength: 2, maxLength: 5 }),
        fc.array(part, { minLength: 5, maxLength: 5 }),
        (parts, values) => {
          const two = entry('two', [], resources('z://'))
          const snapshot = new CatalogSnapshot([entry('one', [], templates(`t:${parts.join('{v}')}`)), two], 'prefixed')
          const filled = parts.map((text, index) => (index === 0 ? text : `${values[index]}${text}`)).join('')
          expect(snapshot.resource(`t:${filled}`)?.server).toBe('one')
        },
      ),
    )
  })

  it('is found quickly among templates that were made to be slow', { timeout: 5_000 }, () => {
    const slow = Array.from({ length: 200 }, (_, index) => `{x}${'a'.repeat(2_000 + index)}b{y}`)
    const snapshot = new CatalogSnapshot(
      [entry('one', [], templates(...slow)), entry('two', [], resources('z://'))],
      'prefixed',
    )
    expect(snapshot.resource('a'.repeat(8_000))).toBeUndefined()
    expect(snapshot.resource('a'.repeat(5_000_000))).toBeUndefined()
  })
})

describe('instructions', () => {
  const snapshot = new CatalogSnapshot(
    [
      entry('one', [], { instructions: ' Be kind. ' }),
      entry('two', [], { instructions: 'x'.repeat(10_000) }),
      entry('three', [], { instructions: '  ' }),
    ],
    'prefixed',
  )

  it('are one offer for each server that has instructions', () => {
    expect(snapshot.instructions.map(({ server, original }) => [server, original])).toEqual([
      ['one', { text: 'Be kind.' }],
      ['two', { text: 'x'.repeat(10_000) }],
    ])
  })
})
