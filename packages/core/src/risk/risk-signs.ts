import { isJsonObject, type Json, type JsonObject } from '../json/json.ts'
import { readPermissions } from '../policy/permission.ts'
import type { RiskLevel } from '../policy/tools-file.ts'
import { expandItems, expandSchema } from '../schema/schema-branches.ts'
import type { ToolDefinition } from '../tool.ts'
import { findActionWord, inferNameRisk } from './name-risk.ts'
import type { RiskTokens } from './risk-tokens.ts'
import { isPrintableAscii, tokenizeName } from './tokenize-name.ts'

/** Something besides the name that makes a tool riskier. `why` contains no text of the server. */
export interface RiskSign {
  readonly atLeast: Exclude<RiskLevel, 'low'>
  readonly why: string
}

/** The key of a server's own declaration, as the kit writes it. */
const PERMISSION_META = 'sallyport/permission'

/** Signs in annotations and schemas that raise the risk. They can never lower it (GOV-6). */
export function findRiskSigns(tool: ToolDefinition, tokens: RiskTokens): readonly RiskSign[] {
  return [...findAnnotationSigns(tool, tokens), ...findSchemaSigns(tool, tokens), ...findNameSigns(tool.name)]
}

const findNameSigns = (name: string): readonly RiskSign[] =>
  isPrintableAscii(name) ? [] : [{ atLeast: 'medium', why: 'letters other than a-z' }]

function findAnnotationSigns(tool: ToolDefinition, tokens: RiskTokens): readonly RiskSign[] {
  const annotations = isJsonObject(tool.annotations) ? tool.annotations : {}
  const signs: RiskSign[] = []
  if (isYes(annotations.destructiveHint)) signs.push({ atLeast: 'high', why: 'destructiveHint' })
  if (isNo(annotations.readOnlyHint)) signs.push({ atLeast: 'medium', why: 'readOnlyHint: false' })
  if (declaredPermissions(tool)?.includes('WRITE')) signs.push({ atLeast: 'medium', why: 'declared WRITE' })
  for (const title of [tool.title, annotations.title]) {
    const verb = typeof title === 'string' ? titleVerb(title, tokens) : undefined
    if (verb !== undefined) signs.push({ atLeast: 'high', why: `title "${verb}"` })
  }
  return signs
}

/** The permissions that a server declares for its tool, as servers written with the kit do. */
export function declaredPermissions(tool: ToolDefinition) {
  const meta = tool._meta
  return isJsonObject(meta) ? readPermissions(meta[PERMISSION_META]) : undefined
}

/** Hints are untrusted data: strings and numbers count too, where they raise the risk. */
export const isYes = (hint: Json | undefined): boolean => hint === true || hint === 'true' || hint === 1
const isNo = (hint: Json | undefined): boolean => hint === false || hint === 'false' || hint === 0

/** `Delete a file` begins with a clear verb; `Post details` may be about a post. */
function titleVerb(title: string, tokens: RiskTokens): string | undefined {
  const first = tokenizeName(title.slice(0, 100))[0]
  if (first === undefined || tokens.nouns.includes(first) || inferNameRisk(first, tokens).level !== 'high')
    return undefined
  return first
}

/** Parameters that contain a program: one of these words is in their name, or one of `PROGRAM_NAMES` is the name. */
const PROGRAM_WORDS = ['sql', 'shell', 'bash', 'script', 'command', 'commands', 'cmd', 'eval', 'exec', 'javascript']
const PROGRAM_NAMES = ['code', 'expression', 'program', 'statement', 'statements', 'function', 'js', 'python']
/** Parameters that choose the action. */
const ACTION_NAMES = [
  ...['action', 'operation', 'op', 'method', 'mode', 'verb', 'command', 'cmd', 'subcommand'],
  ...['action_type', 'operation_type', 'http_method'],
]

function findSchemaSigns({ name: tool, inputSchema }: ToolDefinition, tokens: RiskTokens): readonly RiskSign[] {
  const signs: RiskSign[] = []
  let actions = 0
  // `kubectl` does what its command says, but `query` says that it only reads.
  const ofProgram = inferNameRisk(tool, tokens).level === 'unknown' ? 'high' : 'medium'
  for (const [name, parameter] of listParameters(inputSchema)) {
    const words = tokenizeName(name.slice(0, 200))
    const program = programWord(words)
    if (program !== undefined) {
      const atLeast = PROGRAM_WORDS.includes(program) ? ofProgram : 'medium'
      signs.push({ atLeast, why: `parameter "${program}"` })
    }
    const flag = isFlag(parameter) ? findActionWord(words.join('_'), tokens) : undefined
    if (flag !== undefined) signs.push({ atLeast: 'medium', why: `parameter "${flag}"` })
    const isAction = ACTION_NAMES.includes(words.join('_')) && actions++ < MAX_ACTIONS
    const action = isAction ? riskiestChoice(words.join('_'), listChoices(parameter, inputSchema), tokens) : undefined
    if (action !== undefined) signs.push({ atLeast: 'high', why: `a parameter can be "${action}"` })
  }
  return signs
}

function programWord(words: readonly string[]): string | undefined {
  const named = PROGRAM_NAMES.find((name) => words.length === 1 && words[0] === name)
  return named ?? words.find((word) => PROGRAM_WORDS.includes(word))
}

const isFlag = (parameter: Json): boolean => {
  const type = isJsonObject(parameter) ? parameter.type : undefined
  return type === 'boolean' || (Array.isArray(type) && type.includes('boolean'))
}

/** More than a person reads. The limits bound the work, since many parameters may refer to the same list. */
const MAX_ACTIONS = 20
const MAX_CHOICES = 50

/**
 * All choices, wherever schema generators put them: in the parameter, in alternatives, in items, behind a reference.
 */
function listChoices(parameter: Json, schema: JsonObject): readonly string[] {
  const view = expandSchema(parameter, schema)
  const choices = [...view, ...expandItems(view, schema)].flatMap((node) => [
    ...(Array.isArray(node.enum) ? node.enum.slice(0, MAX_CHOICES) : []),
    node.const,
  ])
  const texts = choices.filter((choice) => typeof choice === 'string').slice(0, MAX_CHOICES)
  return texts.map((choice) => choice.slice(0, 200))
}

function riskiestChoice(name: string, choices: readonly string[], tokens: RiskTokens): string | undefined {
  if (name === 'mode' && !hasReadOnlyChoice(choices, tokens)) return undefined
  return choices.map((choice) => findActionWord(choice, tokens)).find((word) => word !== undefined)
}

/** A mode with the choices `list`, `create` and `delete` is an action; one with `fill` and `fit` is not. */
const hasReadOnlyChoice = (choices: readonly string[], tokens: RiskTokens): boolean =>
  choices.some((choice) => inferNameRisk(choice, tokens).level === 'low')

/** Every named parameter, also nested ones. Uses its own stack, since the schema may be nested arbitrarily deep. */
function* listParameters(schema: JsonObject): Generator<readonly [name: string, schema: Json]> {
  const open: Json[] = [schema]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (typeof node !== 'object' || node === null) continue
    if (isJsonObject(node) && isJsonObject(node.properties))
      for (const [name, parameter] of Object.entries(node.properties))
        if (parameter !== undefined) yield [name, parameter]
    for (const inner of Object.values(node)) if (inner !== undefined) open.push(inner)
  }
}
