import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createFakeSecrets, type FakeSecret } from '../fake-secrets.test-kit.ts'
import { type Json, redactJson, redactJsonInSteps, redactJsonText } from '../index.ts'
import { isEscapedJson, type RedactString } from './redact-json.ts'

const [github] = createFakeSecrets() as readonly [FakeSecret]
const SHOWN = '[redacted: GitHub token]'

/** Every character as a number: JSON allows it, and so hides everything. */
const hidden = (text: string): string =>
  `"${[...text].map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`

/** The value with every text replaced by its kind: what redaction must leave as it is. */
function structureOf(value: Json): unknown {
  if (Array.isArray(value)) return value.map(structureOf)
  if (typeof value !== 'object' || value === null) return typeof value === 'string' ? 'text' : value
  return Object.values(value).map((item) => structureOf(item as Json))
}

const anySecret = fc.integer({ min: 1, max: 9_999 }).chain((seed) => fc.constantFrom(...createFakeSecrets(seed)))

/** Random JSON with the secret somewhere in it: as a text or a name, however deep. */
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
  it('says the same as redactJsonText, however short the steps are', () => {
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

  it('takes a step for each part of a long text, and for many short ones', () => {
    const nothing = new Set<string>()
    expect(inSteps(JSON.stringify({ a: 'x'.repeat(1_000) }), nothing, 100).steps).toBeGreaterThan(10)
    expect(inSteps(JSON.stringify(Array(1_000).fill('x')), nothing, 100).steps).toBeGreaterThan(30)
    expect(inSteps(JSON.stringify(Array(1_000).fill('x')), nothing, 1_000_000).steps).toBe(1)
  })

  it('counts each text as its characters and a hundred more', () => {
    const json = JSON.stringify(Array(10).fill('xx'))
    const stepsOf = (length: number): number => inSteps(json, new Set(), length).steps
    // Each takes 105 characters, its quotes and what stands before them included.
    expect([104, 105, 209, 210, 1_049, 1_050].map(stepsOf)).toEqual([11, 6, 6, 4, 2, 1])
  })

  it('pauses at each part of a long text, before it looks into it, and after it has replaced something', () => {
    const stepsOf = (text: string, length: number): number =>
      inSteps(JSON.stringify({ a: text }), new Set(), length).steps
    const plain = 'x '.repeat(500)
    // Two texts that are too heavy for a step, ten parts, and one pause behind them.
    expect(stepsOf(plain, 100)).toBe(1 + 2 + 10 + 1)
    expect(stepsOf(`${github.secret} ${plain}`.slice(0, 1_000), 100)).toBe(1 + 2 + 10 + 1 + 1)
    expect(stepsOf(plain, 1_000)).toBe(1 + 1)
    expect(stepsOf(github.secret, 1_000)).toBe(1)
  })

  it('shows long texts as it is told to, whole and with the names of their members', () => {
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
  it('leave nothing of a secret planted anywhere, and everything else as it was', () => {
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

  it('give back the very same where there is no secret', () => {
    fc.assert(
      fc.property(fc.jsonValue() as fc.Arbitrary<Json>, (json) => {
        expect(redactJson(json)).toBe(json)
        expect(redactJsonText(JSON.stringify(json, null, 1))).toBe(JSON.stringify(json, null, 1))
      }),
    )
  })

  it('find what is written as numbers of characters', () => {
    expect(redactJsonText(`{"a":${hidden(github.secret)}, ${hidden(github.secret)} : 1}`)).toBe(
      `{"a":"${SHOWN}", "${SHOWN}" : 1}`,
    )
  })

  it('find it in JSON within a text, which stays JSON', () => {
    const inner = `{"a":${hidden(github.secret)},"b":"\\"}"}`
    const shown = `{"a":"${SHOWN}","b":"\\"}"}`
    expect(redactJson({ body: inner })).toEqual({ body: shown })
    expect(redactJsonText(JSON.stringify({ body: inner }))).toBe(JSON.stringify({ body: shown }))
  })

  it('know a secret by the name of its member, and only what looks like one', () => {
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

  it('know a secret by every name that tells, in any case', () => {
    const secret = `a1${github.secret.slice(4, 30)}7`
    for (const name of ['db_password', 'PASSWD', 'client_secret', 'api_key', 'ACCESS_TOKEN', 'apiKey'])
      expect([name, redactJson({ [name]: secret })]).not.toEqual([name, { [name]: secret }])
    expect(redactJson({ apiKey: `${secret} and more` })).toEqual({
      apiKey: '[redacted: secret under its name] and more',
    })
    for (const name of ['id', 'keys', 'tokens', 'authorizations', 'x'])
      expect([name, redactJson({ [name]: secret })]).toEqual([name, { [name]: secret }])
  })

  it('leave the text of a member alone whose name tells and holds a secret itself', () => {
    const name = `${github.secret} is the api_key`
    expect(redactJson({ [name]: 'plain words' })).toEqual({ [`${SHOWN} is the api_key`]: 'plain words' })
  })

  it('give back the very same list, and another only where something in it changed', () => {
    const json = [['a'], { b: 'c' }, github.secret]
    const shown = redactJson(json) as readonly Json[]
    expect(shown).toEqual([['a'], { b: 'c' }, SHOWN])
    expect([shown[0], shown[1]]).toEqual([json[0], json[1]])
    expect(shown[0]).toBe(json[0])
    expect(shown[1]).toBe(json[1])
  })

  it('look into a text only where it is JSON that could hide something', () => {
    expect(isEscapedJson(' \n[{"a":"\\u0061"}]')).toBe(true)
    expect(isEscapedJson('{"a":"\\u0061"}')).toBe(true)
    for (const text of ['{"a":"b"}', '"[\\u0061"', 'x {"a":"\\u0061"}', '{"a":"\\u0061"', '{"a":"\\u0161"}'])
      expect([text, isEscapedJson(text)]).toEqual([text, false])
  })

  it('keep every byte that is no secret', () => {
    const json = `{ "n" : 12345678901234567890.10e1 , "n":1, "t":"\\u00e9\\/\\ud800", "k":["${github.secret}" ] }\n`
    expect(redactJsonText(json)).toBe(json.replace(github.secret, SHOWN))
  })

  it('keep names apart that held different secrets', () => {
    const [, second] = createFakeSecrets() as readonly [FakeSecret, FakeSecret]
    const json = { [github.secret]: 1, [second.secret]: 2, __proto__: 3 }
    expect(redactJson(json)).toEqual({ [SHOWN]: 1, [`${SHOWN} 2`]: 2 })
    expect(JSON.parse(redactJsonText(JSON.stringify(json)))).toEqual({ [SHOWN]: 1, [`${SHOWN} 2`]: 2 })
  })

  it('keep a member named __proto__', () => {
    const json = JSON.parse(`{"__proto__":{"a":"${github.secret}"}}`) as Json
    expect(JSON.stringify(redactJson(json))).toBe(`{"__proto__":{"a":"${SHOWN}"}}`)
  })

  it('leave members alone that are excepted, at the outermost level only', () => {
    const json = `{"state":"${github.secret}","in":{"state":"${github.secret}"}}`
    expect(redactJsonText(json, new Set(['state']))).toBe(`{"state":"${github.secret}","in":{"state":"${SHOWN}"}}`)
    const unnamed = `{"":"${github.secret}","${github.secret}":1}`
    expect(redactJsonText(unnamed, new Set(['']))).toBe(`{"":"${github.secret}","${SHOWN}":1}`)
  })
})
