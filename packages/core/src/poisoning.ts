import { type DefinitionText, textsOf } from './definition-texts.ts'
import { findHidden } from './hidden-characters.ts'
import { findInstruction } from './instruction-phrases.ts'
import type { ToolDefinition } from './tool.ts'
import { cutText, visibleText } from './visible-text.ts'

export type PoisonKind = 'hidden' | 'instruction' | 'other-tool' | 'remote-ref'

/** Something in a tool's definition that may be meant for the model and not for its reader. */
export interface PoisonFinding {
  readonly kind: PoisonKind
  /** The way to it inside the definition; both are one line, cut, with what does not show written out. */
  readonly where: string
  readonly text: string
}

export interface PoisonOptions {
  /** The server that the tool belongs to. */
  readonly server: string
  readonly otherServers: readonly string[]
  /** Names of tools that other servers have and this one has not. */
  readonly otherTools: ReadonlySet<string>
}

/** So many tell enough, and bound what a hostile definition can make us write. */
const MOST_FINDINGS = 20
const MOST_HIDDEN = 5
const LONGEST_TEXT = 80

/** Looks for poisoning in everything that a definition says, offline and always with the same outcome (GOV-10). */
export function findPoison(tool: ToolDefinition, options: PoisonOptions): readonly PoisonFinding[] {
  const findings: PoisonFinding[] = []
  const isOther = otherToolMatcher(tool, options)
  const isRemote = remoteRefMatcher(tool)
  for (const item of textsOf(tool)) {
    if (findings.length >= MOST_FINDINGS) break
    const hidden = findHidden(item.text, MOST_HIDDEN)
    if (hidden.length > 0) findings.push(finding('hidden', item, hidden.join(' ')))
    const instruction = findInstruction(item.text)
    if (instruction !== undefined) findings.push(finding('instruction', item, instruction))
    const other = findOtherTool(item.text, isOther)
    if (other !== undefined) findings.push(finding('other-tool', item, other))
    if (isRemote(item)) findings.push(finding('remote-ref', item, item.text))
  }
  return findings.slice(0, MOST_FINDINGS)
}

function finding(kind: PoisonKind, item: DefinitionText, text: string): PoisonFinding {
  return { kind, where: oneLine(item.where()), text: oneLine(text) }
}

const oneLine = (text: string): string => visibleText(cutText(text, LONGEST_TEXT)).replaceAll('\t', ' ')

/** A name that could be an ordinary word (`search`, `fetch`) is no reference. */
const isNameShaped = (name: string): boolean => /[a-z0-9][_./:-][a-z0-9]|[a-z][A-Z]/.test(name)

function otherToolMatcher(tool: ToolDefinition, { server, otherServers, otherTools }: PoisonOptions) {
  const prefixes = otherServers
    .filter((other) => other !== server)
    .flatMap((other) => [`mcp__${other}__`, `mcp_${other}_`, `${other}__`])
  const ownPrefix = `mcp__${server}__`
  return (name: string): boolean => {
    if (otherTools.has(name)) return name !== tool.name && isNameShaped(name)
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
function remoteRefMatcher(tool: ToolDefinition): (item: DefinitionText) => boolean {
  let ids: ReadonlySet<string> | undefined
  return ({ key, text }) => {
    if (key === undefined || !REF_KEYS.includes(key) || text.startsWith('#')) return false
    ids ??= idsIn(tool)
    return !ids.has(withoutFragment(text))
  }
}

function idsIn(tool: ToolDefinition): ReadonlySet<string> {
  const ids = new Set<string>()
  for (const { key, text } of textsOf(tool)) if (key === '$id') ids.add(withoutFragment(text))
  return ids
}

const withoutFragment = (reference: string): string => reference.replace(/#.*$/s, '')
