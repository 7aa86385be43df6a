import { SelectField, TextArea, TextField } from '../../parts/fields.tsx'
import type { ServerFields } from './server-entry.ts'

interface EntryFieldsProps {
  readonly fields: ServerFields
  readonly onChange: (fields: ServerFields) => void
}

/** How a server is reached: started by a command, or at an address. */
export function EntryFields({ fields, onChange }: EntryFieldsProps) {
  const isCommand = fields.kind === 'command'
  return (
    <>
      <SelectField
        label="Kind"
        value={fields.kind}
        onChange={(kind) => onChange({ ...fields, kind: kind === 'url' ? 'url' : 'command' })}
        options={[
          { value: 'command', text: 'Started by a command' },
          { value: 'url', text: 'At an address' },
        ]}
      />
      {FIELDS.filter(({ kind }) => kind === fields.kind).map(({ name, label, help, isList, placeholder }) => {
        const shared = { label, help, placeholder, value: fields[name] }
        const change = (value: string): void => onChange({ ...fields, [name]: value })
        return isList ? (
          <TextArea key={name} {...shared} rows={3} onChange={change} />
        ) : (
          <TextField key={name} {...shared} required spellCheck={false} onChange={change} />
        )
      })}
      <p className="help">
        {isCommand ? 'Nothing is started' : 'Nothing is connected'} before you write the change of config.yaml.
      </p>
    </>
  )
}

interface Field {
  readonly kind: ServerFields['kind']
  readonly name: 'command' | 'args' | 'env' | 'url' | 'headers'
  readonly label: string
  readonly placeholder: string
  readonly isList?: true
  readonly help?: string
}

const SECRET_HELP = `Write \${NAME} for a secret: its value then comes from the environment, and is not in the file.`

const FIELDS: readonly Field[] = [
  { kind: 'command', name: 'command', label: 'Command', placeholder: 'npx' },
  {
    kind: 'command',
    name: 'args',
    label: 'Arguments',
    placeholder: '-y\n@modelcontextprotocol/server-memory',
    isList: true,
    help: 'One on each line, without quotes.',
  },
  {
    kind: 'command',
    name: 'env',
    label: 'Variables',
    placeholder: `API_KEY=\${API_KEY}`,
    isList: true,
    help: `NAME=value, one on each line. ${SECRET_HELP}`,
  },
  { kind: 'url', name: 'url', label: 'Address', placeholder: 'https://example.com/mcp' },
  {
    kind: 'url',
    name: 'headers',
    label: 'Headers',
    placeholder: `Authorization: Bearer \${TOKEN}`,
    isList: true,
    help: `Name: value, one on each line. ${SECRET_HELP}`,
  },
]
