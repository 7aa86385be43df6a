import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { Link, useNavigate } from 'react-router'
import type { ServerChangeInput } from '../../../../gateway/src/serve/api/api.ts'
import { agentsQuery } from '../../api/queries.ts'
import { ConfigChange, useConfigChange } from '../../parts/config-change.tsx'
import { SelectField, TextArea, TextField } from '../../parts/fields.tsx'
import { EntryFields } from './entry-fields.tsx'
import { type ServerFields, toServerEntry } from './server-entry.ts'

/** Adds servers by a form or by pasted text. The change of config.yaml is shown before it is written. */
export function AddServer({ by }: { readonly by: 'form' | 'paste' }) {
  const navigate = useNavigate()
  const change = useConfigChange(({ added: [first] }) =>
    navigate(first === undefined ? '/servers' : `/servers/${encodeURIComponent(first)}`),
  )
  return (
    <section className="panel add-server" aria-labelledby="add-title">
      <header>
        <h2 id="add-title" className="grow">
          Add a server
        </h2>
        <Link className="btn btn-ghost btn-s" to="/servers">
          Close
        </Link>
      </header>
      <div className="pad stack">
        <nav className="segment" aria-label="How to add it">
          <Link to="/servers?add=form" replace aria-current={by === 'form' ? 'page' : undefined} onClick={change.reset}>
            Form
          </Link>
          <Link
            to="/servers?add=paste"
            replace
            aria-current={by === 'paste' ? 'page' : undefined}
            onClick={change.reset}
          >
            Paste JSON or TOML
          </Link>
        </nav>
        {by === 'form' ? (
          <EntryForm onShow={change.show} onEdit={change.reset} />
        ) : (
          <PasteForm onShow={change.show} onEdit={change.reset} />
        )}
        <ConfigChange change={change} />
      </div>
    </section>
  )
}

interface FormProps {
  readonly onShow: (changes: readonly ServerChangeInput[]) => void
  /** What was shown is not what the fields say any more. */
  readonly onEdit: () => void
}

const EMPTY: ServerFields = { kind: 'command', command: '', args: '', env: '', url: '', headers: '' }

function EntryForm({ onShow, onEdit }: FormProps) {
  const [id, setId] = useState('')
  const [fields, setFields] = useState(EMPTY)
  const [problem, setProblem] = useState<string>()
  const show = (event: FormEvent): void => {
    event.preventDefault()
    const result = toServerEntry(fields)
    if ('problem' in result) setProblem(result.problem)
    else onShow([{ kind: 'add', id: id.trim(), entry: { ...result.entry } }])
  }
  const edit = (): void => {
    setProblem(undefined)
    onEdit()
  }
  return (
    <form className="stack" onSubmit={show}>
      <TextField
        label="Name"
        required
        maxLength={64}
        placeholder="memory"
        value={id}
        onChange={(value) => {
          setId(value)
          edit()
        }}
      />
      <EntryFields
        fields={fields}
        onChange={(next) => {
          setFields(next)
          edit()
        }}
      />
      {problem !== undefined && (
        <p className="error" role="alert">
          {problem}
        </p>
      )}
      <ShowButton />
    </form>
  )
}

function PasteForm({ onShow, onEdit }: FormProps) {
  const { data: agents = [] } = useQuery(agentsQuery)
  const [text, setText] = useState('')
  const [agent, setAgent] = useState('')
  const [name, setName] = useState('')
  const show = (event: FormEvent): void => {
    event.preventDefault()
    onShow([{ kind: 'paste', text, ...(agent !== '' && { agent }), ...(name.trim() !== '' && { id: name.trim() }) }])
  }
  const edit = (set: (value: string) => void) => (value: string) => {
    set(value)
    onEdit()
  }
  return (
    <form className="stack" onSubmit={show}>
      <TextArea
        label="The entry, in the format of any agent"
        rows={8}
        required
        maxLength={200_000}
        value={text}
        onChange={edit(setText)}
        help="A whole file of an agent, a part of it, or one entry, as JSON, TOML or YAML. Keys and tokens are replaced by variables: their values are not written to config.yaml."
      />
      <div className="half">
        <SelectField
          label="Format"
          value={agent}
          onChange={edit(setAgent)}
          options={[
            { value: '', text: 'Find out' },
            ...agents.filter(({ supportsMcp }) => supportsMcp).map(({ id, title }) => ({ value: id, text: title })),
          ]}
        />
        <TextField label="Name, if the entry has none" maxLength={64} value={name} onChange={edit(setName)} />
      </div>
      <ShowButton />
    </form>
  )
}

const ShowButton = () => (
  <div className="actions">
    <button className="btn" type="submit">
      Show the change
    </button>
  </div>
)
