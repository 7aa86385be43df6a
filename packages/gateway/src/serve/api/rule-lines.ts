import { constants, open } from 'node:fs/promises'
import { basename, extname } from 'node:path'
import { type LoggedEvent, type RuleSource, toRecordedArguments } from '@sallyport/core'

/** The current line at the location of a rule that decided. */
export interface RuleLine {
  readonly file: string
  readonly line: number
  /** The current text; missing if the file or the line no longer exists. */
  readonly text?: string
  /** When the file was last changed. */
  readonly changed?: string
}

const MAX_FILE_BYTES = 16 * 1024 * 1024
const MAX_FILES = 20
const MAX_LINES = 200
const RULE_FILE_EXTENSIONS = new Set(['.yaml', '.yml', '.json'])

/** The lines of the rules that these records name, each once. */
export async function readRuleLines(records: readonly LoggedEvent[]): Promise<readonly RuleLine[]> {
  const named = new Map(records.flatMap(collectRules).map((rule) => [`${rule.file}:${rule.line}`, rule]))
  const rules = [...named.values()].slice(0, MAX_LINES)
  const files = [...new Set(rules.map(({ file }) => file))].slice(0, MAX_FILES)
  const read = new Map(await Promise.all(files.map(async (file) => [file, await readRuleFile(file)] as const)))
  return rules.map(({ file, line }) => toRuleLine({ file, line }, read.get(file)))
}

function collectRules(record: LoggedEvent): readonly RuleSource[] {
  if (record.type === 'APPROVAL_REQUESTED') return record.rule ? [record.rule] : []
  if (record.type !== 'TOOL_CALL_STARTED' && record.type !== 'POLICY_DENIED') return []
  const { decided_by, would, rules = {} } = record
  return [decided_by?.rule, would?.rule, ...Object.values(rules)].filter((rule) => rule !== undefined)
}

interface RuleFile {
  readonly lines: readonly string[]
  readonly changed: string
}

function toRuleLine(rule: RuleSource, file: RuleFile | undefined): RuleLine {
  if (file === undefined) return rule
  const text = file.lines[rule.line - 1]?.trim()
  return { ...rule, changed: file.changed, ...(text && { text: redactLine(rule.file, text) }) }
}

/** Keys whose values may be secret. */
const SERVER_KEY = /["']?\b(command|args|env|headers|url|secret)\b["']?\s*:/i

/** A server's whole entry may be on one line of the config, with its secrets: then only its name is shown. */
function redactLine(file: string, line: string): string {
  const isEntry = basename(file) !== 'tools.yaml' && SERVER_KEY.test(line)
  const [name = ''] = line.split(/[:{]/, 1)
  const text = isEntry ? `${name}${name && ': '}…` : line
  const redacted = toRecordedArguments({ text }, 'redacted') as { readonly text?: string } | undefined
  return redacted?.text ?? ''
}

/** Reads only files that can hold rules: a record must not make us read arbitrary files. */
async function readRuleFile(path: string): Promise<RuleFile | undefined> {
  if (!RULE_FILE_EXTENSIONS.has(extname(path))) return undefined
  // Without O_NONBLOCK, opening a named pipe would block forever.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => undefined)
  if (file === undefined) return undefined
  try {
    const found = await file.stat()
    if (!found.isFile() || found.size > MAX_FILE_BYTES) return undefined
    const text = await file.readFile('utf8')
    return { lines: text.split(/\r\n|\r|\n/), changed: found.mtime.toISOString() }
  } catch {
    return undefined
  } finally {
    await file.close()
  }
}
