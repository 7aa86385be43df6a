import { useQuery } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useState } from 'react'
import { Link, useNavigate } from 'react-router'
import type { ServerEntryView } from '../../../../gateway/src/serve/api/api.ts'
import { api, read } from '../../api/client.ts'
import { ConfigChange, type ConfigChangeState, useConfigChange } from '../../parts/config-change.tsx'
import { ForeignText } from '../../parts/foreign-text.tsx'
import { Loaded, Note } from '../../parts/states.tsx'
import { EditField } from './edit-field.tsx'
import { parseField, toForm } from './entry-edit.ts'

/** Changes an entry of config.yaml: `/servers/memory?edit`. */
export function EditServer({ id }: { readonly id: string }) {
  const query = useQuery({
    queryKey: ['servers', 'entry', id],
    queryFn: () => read(api.servers[':id'].entry.$get({ param: { id: encodeURIComponent(id) } })),
    staleTime: 0,
    gcTime: 0,
  })
  const [opened, setOpened] = useState<ServerEntryView>()
  return (
    <Loaded query={query} what={`the entry of ${id}`}>
      {(latest) => {
        const written = opened ?? latest
        return (
          <section className="stack" aria-label={`Edit ${id}`}>
            {/* What was read when the first change was made stays, whatever is read later. */}
            <EditForm key={written.version} written={written} onBegin={() => setOpened(written)}>
              {latest.version !== written.version && (
                <Note kind="ask">
                  Somebody else has changed this entry since you began.{' '}
                  <button className="fold" type="button" onClick={() => setOpened(latest)}>
                    Load it again
                  </button>
                </Note>
              )}
            </EditForm>
          </section>
        )
      }}
    </Loaded>
  )
}

interface EditFormProps {
  readonly written: ServerEntryView
  readonly onBegin: () => void
  /** Shown above the buttons. */
  readonly children: ReactNode
}

function EditForm({ written, onBegin, children }: EditFormProps) {
  const { id, path, line, entry, version } = written
  const { fields, others } = toForm(entry)
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({})
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({})
  const navigate = useNavigate()
  const address = `/servers/${encodeURIComponent(id)}`
  const change = useConfigChange(() => navigate(address))
  const changed = fields.filter(({ key, text }) => (texts[key] ?? text) !== text)
  const show = (event: FormEvent): void => {
    event.preventDefault()
    const parsed = changed.map((field) => [field.key, parseField(field, texts[field.key] ?? '', entry)] as const)
    const found = parsed.flatMap(([key, result]) => ('problem' in result ? [[key, result.problem] as const] : []))
    setProblems(Object.fromEntries(found))
    if (found.length > 0) return
    const values = parsed.flatMap(([key, result]) => ('value' in result ? [[key, result.value] as const] : []))
    change.show([{ kind: 'change', id, fields: Object.fromEntries(values), was: version }])
  }
  const refused = findRefusedField(change, fields)
  return (
    <>
      <form className="stack" onSubmit={show}>
        <div className="edit-fields">
          {fields.map((field) => (
            <EditField
              key={field.key}
              field={field}
              text={texts[field.key] ?? field.text}
              problem={problems[field.key] ?? (refused?.key === field.key ? refused.problem : undefined)}
              onChange={(text) => {
                onBegin()
                setTexts({ ...texts, [field.key]: text })
                setProblems({})
                change.reset()
              }}
            />
          ))}
        </div>
        {others.length > 0 && (
          <p className="help">
            These stay as they are: <ForeignText text={others.join(', ')} limit={1_000} />. Change them in{' '}
            <code>
              {path}:{line}
            </code>
            .
          </p>
        )}
        {children}
        {change.preview.data === undefined && (
          <div className="actions">
            <button className="btn btn-primary" type="submit" disabled={changed.length === 0}>
              Show the change
            </button>
            <Link className="btn btn-ghost" to={address} replace>
              Close
            </Link>
            {changed.length === 0 && <span className="small muted">Nothing is changed yet.</span>}
          </div>
        )}
      </form>
      {refused === undefined && <ConfigChange change={change} />}
    </>
  )
}

/** The field that the gateway refuses, from the place that its message names. */
function findRefusedField(
  { preview }: ConfigChangeState,
  fields: readonly { readonly key: string }[],
): { readonly key: string; readonly problem: string } | undefined {
  const message = preview.error?.message ?? ''
  for (const { key } of fields) {
    const [, problem] = new RegExp(`\\.${key}(?:[.[][^:]*)?: (.*)`, 's').exec(message) ?? []
    if (problem !== undefined) return { key, problem }
  }
  return undefined
}
