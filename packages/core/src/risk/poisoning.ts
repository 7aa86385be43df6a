import type { Json } from '../json/json.ts'
import { cutText, toVisibleText } from '../text/visible-text.ts'
import type { Finding, FindingKind } from './finding.ts'
import { findInstruction, findPreference } from './instruction-phrases.ts'
import { asksForPrivateData, findEncoded, findExfiltration, findHidingMarkup, findPadding } from './suspicious-text.ts'

/** The other servers and their tools. A definition that names them tries to affect other tools. */
export interface Neighbors {
  readonly otherServers: readonly string[]
  /** Names of tools that only other servers have. */
  readonly otherTools: ReadonlySet<string>
}

export interface NeighborOptions extends Neighbors {
  /** The server that the definition belongs to. */
  readonly server: string
  /** The name of the inspected tool itself. */
  readonly name: string
}

/** The version of the rules below. Definitions that were inspected by another version are inspected again. */
export const INSPECTION_VERSION = 3

/** Enough for a person, and a limit to what a hostile definition can make us write. */
const MAX_FINDINGS = 20
const MAX_HIDDEN = 5
const MAX_TEXT = 80

type Rule = readonly [FindingKind, (text: string) => string | undefined]

const RULES: readonly Rule[] = [
  ['hidden', (text) => findHiddenCharacters(text, MAX_HIDDEN).join(' ') || undefined],
  ['instruction', findInstruction],
  ['preference', findPreference],
  ['padding', findPadding],
  ['comment', findHidingMarkup],
  ['encoded', findEncoded],
  ['exfiltration', findExfiltration],
]

/** Inspects all text of a definition: offline, deterministically and in linear time (GOV-10). */
export function findPoison(definition: Json): readonly Finding[] {
  const findings: Finding[] = []
  const isRemote = remoteRefMatcher(definition)
  for (const item of listTexts(definition)) {
    if (findings.length >= MAX_FINDINGS) break
    if (item.text.length > 0)
      for (const [kind, find] of RULES) {
        const found = find(item.text)
        if (found !== undefined) findings.push(createFinding(kind, item, found))
      }
    if (item.isParameter && asksForPrivateData(item.text)) findings.push(createFinding('parameter', item, item.text))
    if (isRemote(item)) findings.push(createFinding('remote-ref', item, item.text))
  }
  return findings.slice(0, MAX_FINDINGS)
}

/** Finds names of other servers' tools in a definition. The result depends on which servers exist. */
export function findOtherTools(definition: Json, options: NeighborOptions): readonly Finding[] {
  if (options.otherServers.length === 0) return NO_FINDINGS
  const findings: Finding[] = []
  const isOther = otherToolMatcher(options)
  for (const item of listTexts(definition)) {
    const name = findOtherTool(item.text, isOther)
    if (name !== undefined) findings.push(createFinding('other-tool', item, name))
    if (findings.length >= MAX_FINDINGS) break
  }
  return findings
}

const NO_FINDINGS: readonly never[] = Object.freeze([])

function createFinding(kind: FindingKind, item: DefinitionText, text: string): Finding {
  return { kind, where: oneLine(item.where()), text: oneLine(text) }
}

const oneLine = (text: string): string => toVisibleText(cutText(text, MAX_TEXT)).replaceAll('\t', ' ')

/** A name that could be an ordinary word (`search`, `fetch`) is not a reference. */
const isNameShaped = (name: string): boolean => /[a-z0-9][_./:-][a-z0-9]|[a-z][A-Z]/.test(name)

function otherToolMatcher({ server, name: own, otherServers, otherTools }: NeighborOptions) {
  const prefixes = otherServers
    .filter((other) => other !== server)
    .flatMap((other) => [`mcp__${other}__`, `mcp_${other}_`, `${other}__`])
  const ownPrefix = `mcp__${server}__`
  return (name: string): boolean => {
    if (otherTools.has(name)) return name !== own && isNameShaped(name)
    const mayBePrefixed = name.includes('__') || name.startsWith('mcp_')
    return mayBePrefixed && !name.startsWith(ownPrefix) && prefixes.some((prefix) => name.startsWith(prefix))
  }
}

const NAME = /[A-Za-z0-9][\w./:-]{2,}/g

function findOtherTool(text: string, isOther: (name: string) => boolean): string | undefined {
  for (const [match] of text.matchAll(NAME)) {
    const name = match.replace(/[./:-]+$/, '')
    if (isOther(name)) return name
  }
  return undefined
}

const REF_KEYS = ['$ref', '$dynamicRef', '$recursiveRef']

/** Matches references that lead out of the definition. A reference to an `$id` inside it does not. */
function remoteRefMatcher(definition: Json): (item: DefinitionText) => boolean {
  let ids: ReadonlySet<string> | undefined
  return ({ key, text }) => {
    if (key === undefined || !REF_KEYS.includes(key) || text.startsWith('#')) return false
    ids ??= collectIds(definition)
    return !ids.has(withoutFragment(text))
  }
}

function collectIds(definition: Json): ReadonlySet<string> {
  const ids = new Set<string>()
  for (const { key, text } of listTexts(definition)) if (key === '$id') ids.add(withoutFragment(text))
  return ids
}

const withoutFragment = (reference: string): string => reference.replace(/#.*$/s, '')

/** A text of a definition, and its location. */
interface DefinitionText {
  readonly text: string
  /** The key of the member; `undefined` for a key itself. */
  readonly key: string | undefined
  /** Whether it is the name of an argument: a key of `properties`, or the `name` of a prompt's argument. */
  readonly isParameter: boolean
  /** Built only when needed: with deep nesting, all locations together are long. */
  where(): string
}

interface Node {
  readonly value: Json
  readonly step: string
  readonly parent: Node | undefined
}

const MAX_STEPS = 12

/** Every string of a definition, including keys. Uses its own stack, since the value may be nested arbitrarily deep. */
function* listTexts(definition: Json): Generator<DefinitionText> {
  const open: Node[] = [{ value: definition, step: '', parent: undefined }]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    const { value, step } = node
    const at = node
    if (typeof value === 'string')
      yield { text: value, key: step, isParameter: isArgumentName(node), where: () => formatLocation(at) }
    if (typeof value !== 'object' || value === null) continue
    const isList = Array.isArray(value)
    // In reverse order, so that they are popped in their original order.
    for (const [key, inner] of Object.entries(value).reverse())
      if (inner !== undefined) open.push({ value: inner, step: isList ? `[${key}]` : key, parent: node })
    if (!isList)
      for (const key of Object.keys(value))
        yield {
          text: key,
          key: undefined,
          isParameter: step === 'properties' && isSchema(at),
          where: () => formatLocation({ value: null, step: key, parent: at }),
        }
  }
}

/** False for a parameter that is itself called `properties`. */
const isSchema = ({ parent }: Node): boolean => parent?.step !== 'properties'

/** `arguments[0].name`. */
const isArgumentName = ({ step, parent }: Node): boolean =>
  step === 'name' && parent?.step.startsWith('[') === true && parent.parent?.step === 'arguments'

function formatLocation(node: Node): string {
  const steps: string[] = []
  let at: Node | undefined = node
  for (; at?.parent !== undefined && steps.length < MAX_STEPS; at = at.parent) steps.unshift(at.step)
  if (at?.parent !== undefined) steps.unshift('…')
  return steps.join('.').replaceAll('.[', '[')
}

/**
 * Characters that are invisible or change how other text is displayed: controls, formats (zero width, bidirectional,
 * tags), separators that some programs treat as line ends, fillers, variation selectors, private use, lone surrogates.
 */
const SUSPECT = /[\u2028\u2029\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu

/** None of these characters is suspect, and most texts consist of them only. */
const PRINTABLE_TEXT = /^[\t\n\r -~]*$/

const EMOJI = /[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}\p{So}\p{Sm}]/u
/** Scripts in which joiners shape words. */
const JOINED_SCRIPT =
  /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}]/u
const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}]/u
/** The flags of England, Scotland and Wales: the only tag sequences that fonts display. */
const FLAG =
  /\u{1f3f4}\u{e0067}\u{e0062}(?:\u{e0065}\u{e006e}\u{e0067}|\u{e0073}\u{e0063}\u{e0074}|\u{e0077}\u{e006c}\u{e0073})\u{e007f}/gu

const KEYCAP = /[0-9#*]/
const LINE_CONTROLS = '\t\n\r'
const JOINERS = '\u200c\u200d'
const DIRECTION_MARKS = '\u200e\u200f\u061c'

/** Characters that a person cannot see but a model can, each once, as `U+200B`; at most `max`. */
function findHiddenCharacters(text: string, max: number): readonly string[] {
  if (PRINTABLE_TEXT.test(text)) return []
  const found = new Set<string>()
  const withoutFlags = text.replaceAll(FLAG, '')
  for (const match of withoutFlags.matchAll(SUSPECT)) {
    if (isExpectedHere(withoutFlags, match.index, match[0])) continue
    found.add(codePoint(match[0]))
    if (found.size === max) break
  }
  return [...found]
}

/** Whether the text around it needs it: an emoji, or a script that uses such characters. */
function isExpectedHere(text: string, index: number, char: string): boolean {
  const before = characterBefore(text, index)
  const after = String.fromCodePoint(text.codePointAt(index + char.length) ?? 0)
  if (LINE_CONTROLS.includes(char)) return true
  // One for each emoji: a run of them can carry any message.
  if (char === '\ufe0e' || char === '\ufe0f') return EMOJI.test(before) || (KEYCAP.test(before) && after === '\u20e3')
  if (char === '\u200d' && (EMOJI.test(before) || before === '\ufe0f')) return EMOJI.test(after)
  if (JOINERS.includes(char)) return JOINED_SCRIPT.test(before)
  if (DIRECTION_MARKS.includes(char)) return RIGHT_TO_LEFT.test(before) || RIGHT_TO_LEFT.test(after)
  return char === '\u00ad' && /\p{L}/u.test(before) && /\p{L}/u.test(after)
}

function characterBefore(text: string, index: number): string {
  const pair = text.slice(Math.max(0, index - 2), index)
  return [...pair].at(-1) ?? ''
}

const codePoint = (char: string): string =>
  `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
