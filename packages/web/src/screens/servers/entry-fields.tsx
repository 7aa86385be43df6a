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
      <div className="field">
        <label htmlFor="add-kind">Kind</label>
        <select
          id="add-kind"
          className="input"
          value={fields.kind}
          onChange={({ target }) => onChange({ ...fields, kind: target.value === 'url' ? 'url' : 'command' })}
        >
          <option value="command">Started by a command</option>
          <option value="url">At an address</option>
        </select>
      </div>
      {FIELDS.filter(({ kind }) => kind === fields.kind).map(({ name, label, help, isList, placeholder }) => (
        <div className="field" key={name}>
          <label htmlFor={`add-${name}`}>{label}</label>
          {isList ? (
            <textarea
              id={`add-${name}`}
              className="input"
              rows={3}
              spellCheck={false}
              placeholder={placeholder}
              aria-describedby={`add-${name}-help`}
              value={fields[name]}
              onChange={({ target }) => onChange({ ...fields, [name]: target.value })}
            />
          ) : (
            <input
              id={`add-${name}`}
              className="input"
              required
              spellCheck={false}
              placeholder={placeholder}
              value={fields[name]}
              onChange={({ target }) => onChange({ ...fields, [name]: target.value })}
            />
          )}
          {help !== undefined && (
            <p className="help" id={`add-${name}-help`}>
              {help}
            </p>
          )}
        </div>
      ))}
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
