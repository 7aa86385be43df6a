/** A field of the form for an entry that is in config.yaml already. */
export interface EntryField {
  /** Its name in config.yaml, for a field that the entry does not have yet. */
  readonly name: string
  readonly aliases?: readonly string[]
  readonly label: string
  readonly kind: 'text' | 'lines' | 'pairs' | 'choice'
  /** Of the form. */
  readonly width: 'half' | 'third' | 'whole'
  /** Only for servers that are started by a command, or that are at an address. */
  readonly of?: 'command' | 'url'
  readonly sign?: '=' | ':'
  readonly choices?: readonly string[]
  readonly placeholder?: string
  readonly help?: string
}

const SECRET_HELP = `\${NAME} is a variable of the gateway’s environment. ••• is a value that is not shown: leave it, or write a new one.`

const ENTRY_FIELDS: readonly EntryField[] = [
  { name: 'title', width: 'half', label: 'Title', kind: 'text', placeholder: 'none' },
  { name: 'command', width: 'half', label: 'Command', kind: 'text', of: 'command' },
  {
    name: 'args',
    width: 'whole',
    label: 'Arguments',
    kind: 'lines',
    of: 'command',
    help: 'One on each line, without quotes.',
  },
  {
    name: 'env',
    width: 'whole',
    aliases: ['environment'],
    label: 'Variables',
    kind: 'pairs',
    sign: '=',
    of: 'command',
    help: `NAME=value, one on each line. ${SECRET_HELP}`,
  },
  {
    name: 'cwd',
    width: 'third',
    label: 'Working folder',
    kind: 'text',
    of: 'command',
    placeholder: 'that of the gateway',
  },
  { name: 'url', width: 'half', aliases: ['http_url'], label: 'Address', kind: 'text', of: 'url' },
  {
    name: 'headers',
    width: 'whole',
    label: 'Headers',
    kind: 'pairs',
    sign: ':',
    of: 'url',
    help: `Name: value, one on each line. ${SECRET_HELP}`,
  },
  {
    name: 'sensitivity',
    width: 'third',
    label: 'Sensitivity of its results',
    kind: 'choice',
    choices: ['public', 'internal', 'confidential', 'secret'],
  },
  { name: 'read_timeout', width: 'third', label: 'Longest call', kind: 'text', placeholder: 'such as 30s' },
  {
    name: 'include_tools',
    width: 'third',
    label: 'Only these tools',
    kind: 'lines',
    help: 'One on each line; empty for all.',
  },
  { name: 'exclude_tools', width: 'third', label: 'Without these tools', kind: 'lines', help: 'One on each line.' },
  {
    name: 'isolated_tools',
    width: 'third',
    label: 'Isolated tools',
    kind: 'lines',
    help: 'One on each line. Their results do not go into the context of the agent.',
  },
]

export type Entry = Readonly<Record<string, unknown>>

/** A field with the text that shows what the entry has. */
export interface ShownField extends EntryField {
  /** As the entry spells it. */
  readonly key: string
  readonly text: string
}

export interface EntryForm {
  readonly fields: readonly ShownField[]
  /** Fields of the entry that the form does not show. */
  readonly others: readonly string[]
}

/** `read_timeout` and `readTimeout` are the same. */
const fold = (key: string): string => key.toLowerCase().replaceAll(/[_-]/g, '')

export function toForm(entry: Entry): EntryForm {
  const kind = findKey(entry, ['url', 'http_url']) === undefined ? 'command' : 'url'
  const isOfKind = ({ of }: EntryField): boolean =>
    of === undefined || (of === kind && (of === 'url' || findKey(entry, ['command']) !== undefined))
  const fields = ENTRY_FIELDS.filter(isOfKind).flatMap((field): ShownField[] => {
    const key = findKey(entry, [field.name, ...(field.aliases ?? [])])
    const shown = showValue(field, key === undefined ? undefined : entry[key])
    return shown === undefined ? [] : [{ ...field, kind: shown.kind, key: key ?? field.name, text: shown.text }]
  })
  const known = new Set(fields.map(({ key }) => key))
  return { fields, others: Object.keys(entry).filter((key) => !known.has(key)) }
}

const findKey = (entry: Entry, names: readonly string[]): string | undefined =>
  Object.keys(entry).find((key) => names.some((name) => fold(name) === fold(key)))

type Shown = Pick<EntryField, 'kind'> & { readonly text: string }

/** `undefined`: the form cannot show this value without losing something. */
function showValue({ kind, sign = '=', choices = [] }: EntryField, value: unknown): Shown | undefined {
  if (value === undefined) return { kind, text: '' }
  if (Array.isArray(value)) {
    // A command may be a list, too.
    const isList = (kind === 'lines' || kind === 'text') && value.every(isLine)
    return isList ? { kind: 'lines', text: value.join('\n') } : undefined
  }
  if (typeof value === 'object' && value !== null) {
    const isPairs = kind === 'pairs' && Object.values(value).every(isLine)
    return isPairs ? { kind, text: formatPairs(value as Readonly<Record<string, unknown>>, sign) } : undefined
  }
  if (kind === 'choice') {
    const choice = choices.find((one) => one === String(value).toLowerCase())
    return choice === undefined ? undefined : { kind, text: choice }
  }
  return kind === 'text' && isLine(value) ? { kind, text: String(value) } : undefined
}

const isLine = (value: unknown): boolean =>
  (typeof value === 'string' && !value.includes('\n')) || typeof value === 'number' || typeof value === 'boolean'

const formatPairs = (pairs: Readonly<Record<string, unknown>>, sign: '=' | ':'): string =>
  Object.entries(pairs)
    .map(([name, value]) => `${name}${sign === ':' ? ': ' : '='}${value}`)
    .join('\n')

export type FieldValue = { readonly value: unknown } | { readonly problem: string }

/** The value that a changed text means; `null` removes the field. What is unchanged in it keeps its type. */
export function parseField({ kind, sign = '=', key, name }: ShownField, text: string, entry: Entry): FieldValue {
  const before = entry[key]
  if (text.trim() === '') return { value: null }
  if (kind === 'lines') {
    const items = Array.isArray(before) ? before : []
    const lines = text.split('\n').filter((line) => line !== '')
    return { value: lines.map((line) => items.find((item) => String(item) === line) ?? line) }
  }
  if (kind === 'pairs') return parsePairs(text, sign, before)
  const isNumber = typeof before === 'number' || name.endsWith('timeout')
  return { value: isNumber && /^\d+$/.test(text.trim()) ? Number(text) : text.trim() }
}

function parsePairs(text: string, sign: '=' | ':', before: unknown): FieldValue {
  const known = (typeof before === 'object' && before !== null ? before : {}) as Readonly<Record<string, unknown>>
  const pairs = new Map<string, unknown>()
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue
    const at = line.indexOf(sign)
    const name = line.slice(0, at).trim()
    if (at < 1 || name === '')
      return { problem: `${JSON.stringify(line.slice(0, 100))} is not ${sign === '=' ? 'NAME=value' : 'Name: value'}.` }
    if (pairs.has(name)) return { problem: `${name} is there twice.` }
    const value = sign === ':' ? line.slice(at + 1).trim() : line.slice(at + 1)
    pairs.set(name, Object.hasOwn(known, name) && String(known[name]) === value ? known[name] : value)
  }
  return { value: Object.fromEntries(pairs) }
}
