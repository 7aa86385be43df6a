import { type DefinitionText, listTexts } from './definition-texts.ts'
import type { Finding, FindingKind } from './finding.ts'
import { findHiddenCharacters } from './hidden-characters.ts'
import { findInstruction, findPreference } from './instruction-phrases.ts'
import type { Json } from './json/json.ts'
import { asksForPrivateData, findEncoded, findExfiltration, findHidingMarkup, findPadding } from './suspicious-text.ts'
import { cutText, toVisibleText } from './visible-text.ts'

/** What other servers have: text that names it is meant for somebody else's tools. */
export interface Neighbors {
  readonly otherServers: readonly string[]
  /** Names of tools that other servers have and this one has not. */
  readonly otherTools: ReadonlySet<string>
}

export interface NeighborOptions extends Neighbors {
  /** The server that the definition belongs to. */
  readonly server: string
  /** What it is called itself. */
  readonly name: string
}

/** Of the rules below: what was inspected by others has to be inspected again. */
export const INSPECTION_VERSION = 3

/** So many tell enough, and bound what a hostile definition can make us write. */
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

/** Inspects everything that a definition says, offline, in linear time and always with the same outcome (GOV-10). */
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

/** The tools of other servers that a definition names. It depends on who else is there. */
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

/** A name that could be an ordinary word (`search`, `fetch`) is no reference. */
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

/** A reference that leads out of the definition; one to a part with an `$id` of its own does not. */
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
