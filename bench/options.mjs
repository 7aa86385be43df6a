import { parseArgs } from 'node:util'
import { PROTOCOL_VERSION } from './load/request.mjs'
import { SUITES } from './suites/suites.mjs'

const FULL = {
  rounds: 7,
  eras: ['modern', 'legacy'],
  callers: [1, 16, 64],
  burstMs: 500,
  warmCalls: 4_000,
  primeMs: 3_000,
  primeCalls: 1_500,
  sizes: [1_000, 100_000, 1_000_000, 10_000_000],
  sizeRounds: 3,
  mixedRounds: 3,
  mixedMs: 3_000,
  sessions: 1_000,
  toolCounts: [10, 500, 5_000],
  catalogRounds: 3,
  upstreams: 20,
  startRounds: 7,
  governRounds: 5,
  decisions: 50_000,
  identityRounds: 40,
  identityCalls: 2_000,
  appends: 5,
  /** Kinds that are started for their own suites, besides those that all suites share. */
  alone: ['floor', 'naive', 'peer', 'ours'],
}

/** Fewer rounds and shorter ones: enough to see a change, not enough to publish. */
const QUICK = {
  ...FULL,
  rounds: 3,
  eras: ['modern'],
  burstMs: 250,
  warmCalls: 1_000,
  primeCalls: 500,
  sizes: [1_000, 10_000_000],
  sizeRounds: 1,
  mixedRounds: 1,
  mixedMs: 2_000,
  toolCounts: [10, 5_000],
  catalogRounds: 1,
  startRounds: 3,
  governRounds: 2,
  decisions: 20_000,
  identityRounds: 20,
  identityCalls: 1_000,
  alone: ['floor', 'ours'],
}

export const USAGE = `npm run bench -- [options]

  --quick             about three minutes instead of about twenty
  --only LIST         suites and gateways, with commas: call,size  floor-pipe,ours-http  peer  'ours-*'
  --out FILE          keep every figure of every round as JSON
  --write             write docs/benchmarks.md, and the figures beside it
  --from FILE         print and write figures that were kept, instead of measuring
  --profile GATEWAY   a CPU profile of one gateway instead; with
      --era E         modern (else legacy)
      --callers N     16
      --size BYTES    1000
      --seconds N     5

Suites: ${SUITES.join(', ')}`

/** @type {import('node:util').ParseArgsConfig['options']} */
const OPTIONS = {
  quick: { type: 'boolean', default: false },
  only: { type: 'string', default: '' },
  out: { type: 'string' },
  write: { type: 'boolean', default: false },
  from: { type: 'string' },
  profile: { type: 'string' },
  era: { type: 'string', default: 'modern' },
  callers: { type: 'string', default: '16' },
  size: { type: 'string', default: '1000' },
  seconds: { type: 'string', default: '5' },
  help: { type: 'boolean', default: false },
}

/**
 * The parsed options: `known` are the existing gateways.
 * @returns {any}
 */
export function readOptions(args, known) {
  /** @type {{ values: Record<string, any> }} */
  const { values } = parseArgs({ args, options: OPTIONS })
  if (values.write && (values.quick || values.only !== ''))
    throw new Error('--write publishes a whole run: leave out --quick and --only.')
  const words = values.only.split(',').filter((word) => word !== '')
  const suites = words.filter((word) => SUITES.includes(word))
  const patterns = words.filter((word) => !SUITES.includes(word))
  const unknown = patterns.find((pattern) => !known.some((gateway) => isMeant(gateway, pattern)))
  if (unknown !== undefined) throw new Error(`--only names "${unknown}", which is no suite and no gateway.`)
  return {
    ...values,
    load: loadOf(values),
    plan: values.quick ? QUICK : FULL,
    suites: suites.length === 0 ? SUITES : suites,
    // Everything is reported as a ratio to the direct call.
    gateways: known.filter(
      (gateway) =>
        patterns.length === 0 || gateway.kind === 'direct' || patterns.some((pattern) => isMeant(gateway, pattern)),
    ),
  }
}

/** What a profile is taken under. */
function loadOf(values) {
  if (!(values.era in PROTOCOL_VERSION)) throw new Error(`--era is "${values.era}": expected modern or legacy.`)
  const numbers = ['callers', 'size', 'seconds'].map((name) => [name, wholeNumber(name, values[name])])
  return { era: values.era, ...Object.fromEntries(numbers) }
}

function wholeNumber(name, text) {
  const number = Number(text)
  if (Number.isInteger(number) && number > 0) return number
  throw new Error(`--${name} is "${text}": expected a whole number above 0.`)
}

const isMeant = ({ name, kind }, pattern) =>
  pattern === name || pattern === kind || (pattern.endsWith('*') && name.startsWith(pattern.slice(0, -1)))
