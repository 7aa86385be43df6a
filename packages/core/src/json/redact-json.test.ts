import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createFakeSecrets, type FakeSecret } from '../fake-secrets.test-kit.ts'
import { type Json, redactJson, redactJsonInSteps, redactJsonText } from '../index.ts'
import { isEscapedJson, type RedactString } from './redact-json.ts'

const [github] = createFakeSecrets() as readonly [FakeSecret]
const SHOWN = '[redacted: GitHub token]'

/** Escapes every character: JSON allows it, and it hides everything. */
const hidden = (text: string): string =>
  `"${[...text].map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`

/** The value with every string replaced by its type: redaction must not change this structure. */
function structureOf(value: Json): unknown {
  if (Array.isArray(value)) return value.map(structureOf)
  if (typeof value !== 'object' || value === null) return typeof value === 'string' ? 'text' : value
  return Object.values(value).map((item) => structureOf(item as Json))
}

const anySecret = fc.integer({ min: 1, max: 9_999 }).chain((seed) => fc.constantFrom(...createFakeSecrets(seed)))

/** Random JSON that contains the secret as a string or a key, at any depth. */
function jsonWith(secret: string): fc.Arbitrary<Json> {
  const leaf = fc.jsonValue({ maxDepth: 1 }) as fc.Arbitrary<Json>
  const planted = fc
    .tuple(fc.constantFrom('', 'see "', 'é\n', '\\'), fc.constantFrom('', '"\\', '\n', ' ☃'))
    .map(([before, behind]): Json => before + secret + behind)
  const wrap = (inner: fc.Arbitrary<Json>): fc.Arbitrary<Json> =>
    fc.oneof(
      fc.tuple(leaf, inner).map(([a, b]): Json => [a, b]),
      fc.tuple(fc.string(), inner, leaf).map(([name, value, other]): Json => ({ [name]: value, other })),
      leaf.map((value): Json => ({ [secret]: value })),
    )
  return wrap(fc.oneof(planted, wrap(fc.oneof(planted, wrap(planted)))))
}

function inSteps(json: string, except: ReadonlySet<string>, stepLength: number): { shown: string; steps: number } {
  const redaction = redactJsonInSteps(json, { except, stepLength })
  for (let steps = 1; ; steps++) {
    const { done, value } = redaction.next()
    if (done) return { shown: value, steps }
  }
}

describe('redactJsonInSteps', () => {
  it('returns the same as redactJsonText, however short the steps are', () => {
    const planted = anySecret.chain(({ secret, text = secret }) => fc.tuple(jsonWith(text), fc.constant(secret)))
    const lengths = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constantFrom(100, 1_000))
    fc.assert(
      fc.property(planted, fc.nat(300), lengths, ([value, secret], before, length) => {
        const json = JSON.stringify({ password: `${'x'.repeat(before)} ${secret}`, value, other: [value] })
        const hiding = JSON.stringify({ outer: `{"a":${hidden(secret)}}`, value })
        for (const text of [json, hiding])
          for (const except of [new Set<string>(), new Set(['value'])])
            expect(inSteps(text, except, length).shown).toBe(redactJsonText(text, except))
      }),
      { numRuns: 200 },
    )
  })

  it('takes a step for each part of a long string, and for many short ones', () => {
    const nothing = new Set<string>()
    expect(inSteps(JSON.stringify({ a: 'x'.repeat(1_000) }), nothing, 100).steps).toBeGreaterThan(10)
    expect(inSteps(JSON.stringify(Array(1_000).fill('x')), nothing, 100).steps).toBeGreaterThan(30)
    expect(inSteps(JSON.stringify(Array(1_000).fill('x')), nothing, 1_000_000).steps).toBe(1)
  })

  it('counts each string as its length plus one hundred', () => {
    const json = JSON.stringify(Array(10).fill('xx'))
    const stepsOf = (length: number): number => inSteps(json, new Set(), length).steps
    // Each costs 105 characters, including its quotes and the text before them.
    expect([104, 105, 209, 210, 1_049, 1_050].map(stepsOf)).toEqual([11, 6, 6, 4, 2, 1])
  })

  it('pauses at each part of a long string, before JSON inside it, and after a replacement', () => {
    const stepsOf = (text: string, length: number): number =>
      inSteps(JSON.stringify({ a: text }), new Set(), length).steps
    const plain = 'x '.repeat(500)
    // Two strings that are too large for a step, ten parts, and one pause after them.
    expect(stepsOf(plain, 100)).toBe(1 + 2 + 10 + 1)
    expect(stepsOf(`${github.secret} ${plain}`.slice(0, 1_000), 100)).toBe(1 + 2 + 10 + 1 + 1)
    expect(stepsOf(plain, 1_000)).toBe(1 + 1)
    expect(stepsOf(github.secret, 1_000)).toBe(1)
  })

  it('passes long strings completely to the given function, with their member names', () => {
    const seen: [string, number][] = []
    const redactString: RedactString = (name, text) => {
      seen.push([name, text.length])
      return text.length > 5 ? 'cut' : text
    }
    const steps = redactJsonInSteps(JSON.stringify({ a: 'x'.repeat(50) }), {
      except: new Set(),
      stepLength: 10,
      redactString,
    })
    let last = steps.next()
    while (!last.done) last = steps.next()
    expect(last.value).toBe('{"a":"cut"}')
    expect(seen).toEqual([
      ['', 1],
      ['a', 50],
    ])
  })
})

describe('redactJson and redactJsonText', () => {
  it('remove a secret at any position, and change nothing else', () => {
    const planted = anySecret.chain(({ secret, text = secret }) => fc.tuple(fc.constant(secret), jsonWith(text)))
    fc.assert(
      fc.property(planted, ([secret, json]) => {
        const printed = JSON.stringify(json)
        const within = JSON.stringify(secret).slice(1, -1)
        const redacted = redactJson(json)
        expect(JSON.stringify(redacted)).not.toContain(within)
        expect(structureOf(redacted)).toEqual(structureOf(json))
        const text = redactJsonText(printed)
        expect(text).not.toContain(within)
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(redacted)))
      }),
      { numRuns: 500 },
    )
  })

  it('return the same value if there is no secret', () => {
    fc.assert(
      fc.property(fc.jsonValue() as fc.Arbitrary<Json>, (json) => {
        expect(redactJson(json)).toBe(json)
        expect(redactJsonText(JSON.stringify(json, null, 1))).toBe(JSON.stringify(json, null, 1))
      }),
    )
  })

  it('find a secret that is written in escapes', () => {
    expect(redactJsonText(`{"a":${hidden(github.secret)}, ${hidden(github.secret)} : 1}`)).toBe(
      `{"a":"${SHOWN}", "${SHOWN}" : 1}`,
    )
  })

  it('find it in JSON inside a string, which stays valid JSON', () => {
    const inner = `{"a":${hidden(github.secret)},"b":"\\"}"}`
    const shown = `{"a":"${SHOWN}","b":"\\"}"}`
    expect(redactJson({ body: inner })).toEqual({ body: shown })
    expect(redactJsonText(JSON.stringify({ body: inner }))).toBe(JSON.stringify({ body: shown }))
  })

  it('recognize a secret by the name of its member, if it looks like one', () => {
    const secret = `a1${github.secret.slice(4, 30)}7`
    const args = { apiKey: secret, db_password: 'correct horse battery', Authorization: `Basic ${secret}`, id: secret }
    const shown = {
      ...args,
      apiKey: '[redacted: secret under its name]',
      Authorization: 'Basic [redacted: login in a header]',
    }
    expect(redactJson(args)).toEqual(shown)
    expect(redactJsonText(JSON.stringify(args))).toBe(JSON.stringify(shown))
  })

  it('recognize a secret by every secret name, in any case', () => {
    const secret = `a1${github.secret.slice(4, 30)}7`
    for (const name of ['db_password', 'PASSWD', 'client_secret', 'api_key', 'ACCESS_TOKEN', 'apiKey'])
      expect([name, redactJson({ [name]: secret })]).not.toEqual([name, { [name]: secret }])
    expect(redactJson({ apiKey: `${secret} and more` })).toEqual({
      apiKey: '[redacted: secret under its name] and more',
    })
    for (const name of ['id', 'keys', 'tokens', 'authorizations', 'x'])
      expect([name, redactJson({ [name]: secret })]).toEqual([name, { [name]: secret }])
  })

  it('do not change the value of a member whose secret name contains a secret itself', () => {
    const name = `${github.secret} is the api_key`
    expect(redactJson({ [name]: 'plain words' })).toEqual({ [`${SHOWN} is the api_key`]: 'plain words' })
  })

  it('return the same list unless an item changed', () => {
    const json = [['a'], { b: 'c' }, github.secret]
    const shown = redactJson(json) as readonly Json[]
    expect(shown).toEqual([['a'], { b: 'c' }, SHOWN])
    expect([shown[0], shown[1]]).toEqual([json[0], json[1]])
    expect(shown[0]).toBe(json[0])
    expect(shown[1]).toBe(json[1])
  })

  it('parse a string only if it is JSON that could hide something', () => {
    expect(isEscapedJson(' \n[{"a":"\\u0061"}]')).toBe(true)
    expect(isEscapedJson('{"a":"\\u0061"}')).toBe(true)
    for (const text of ['{"a":"b"}', '"[\\u0061"', 'x {"a":"\\u0061"}', '{"a":"\\u0061"', '{"a":"\\u0161"}'])
      expect([text, isEscapedJson(text)]).toEqual([text, false])
  })

  it('preserve every byte outside secrets', () => {
    const json = `{ "n" : 12345678901234567890.10e1 , "n":1, "t":"\\u00e9\\/\\ud800", "k":["${github.secret}" ] }\n`
    expect(redactJsonText(json)).toBe(json.replace(github.secret, SHOWN))
  })

  it('keep keys different that contained different secrets', () => {
    const [, second] = createFakeSecrets() as readonly [FakeSecret, FakeSecret]
    const json = { [github.secret]: 1, [second.secret]: 2, __proto__: 3 }
    expect(redactJson(json)).toEqual({ [SHOWN]: 1, [`${SHOWN} 2`]: 2 })
    expect(JSON.parse(redactJsonText(JSON.stringify(json)))).toEqual({ [SHOWN]: 1, [`${SHOWN} 2`]: 2 })
  })

  it('preserve a member named __proto__', () => {
    const json = JSON.parse(`{"__proto__":{"a":"${github.secret}"}}`) as Json
    expect(JSON.stringify(redactJson(json))).toBe(`{"__proto__":{"a":"${SHOWN}"}}`)
  })

  it('do not change excepted members, at the outermost level only', () => {
    const json = `{"state":"${github.secret}","in":{"state":"${github.secret}"}}`
    expect(redactJsonText(json, new Set(['state']))).toBe(`{"state":"${github.secret}","in":{"state":"${SHOWN}"}}`)
    const unnamed = `{"":"${github.secret}","${github.secret}":1}`
    expect(redactJsonText(unnamed, new Set(['']))).toBe(`{"":"${github.secret}","${SHOWN}":1}`)
  })
})
