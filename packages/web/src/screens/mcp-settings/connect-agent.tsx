import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { AgentConnection } from '../../../../gateway/src/serve/api/api.ts'
import { api, read } from '../../api/client.ts'
import { CopyButton } from '../../parts/command.tsx'
import { TextField } from '../../parts/fields.tsx'
import { Panel } from '../../parts/page.tsx'
import { Failed, Note } from '../../parts/states.tsx'

const MAX_DAYS = 3_650

/** Makes the entry that a person pastes into the agent's file, with a token of its own. */
export function ConnectAgent({ agent }: { readonly agent: string }) {
  const client = useQueryClient()
  const [variant, setVariant] = useState('default')
  const [days, setDays] = useState('90')
  const connecting = useMutation({
    mutationFn: () =>
      read(
        api.agents[':agent'].connect.$post({
          param: { agent: encodeURIComponent(agent) },
          json: { variant: variant.trim(), days: Number(days) },
        }),
      ),
    gcTime: 0,
    onSuccess: () => client.invalidateQueries({ queryKey: ['tokens'] }),
  })
  const connect = (event: FormEvent): void => {
    event.preventDefault()
    connecting.mutate()
  }
  return (
    <Panel title="Connect it" sub="with a token of its own, which expires">
      <div className="pad stack-s">
        <form className="bar-line" onSubmit={connect}>
          <TextField label="Profile" required maxLength={300} value={variant} onChange={setVariant} />
          <TextField label="Days" type="number" required min={1} max={MAX_DAYS} value={days} onChange={setDays} />
          <button className="btn connect-make" type="submit" disabled={connecting.isPending}>
            Make the entry and a token
          </button>
        </form>
        {connecting.error && <Failed error={connecting.error} />}
        {connecting.data && <Connection connection={connecting.data} />}
      </div>
    </Panel>
  )
}

function Connection({ connection }: { readonly connection: AgentConnection }) {
  const { file, entry, variable, tokenSource, token, expires } = connection
  return (
    <section className="stack-s" aria-label="The entry">
      <p>
        {file === undefined ? 'Paste this into the settings of the agent.' : 'Paste this into '}
        {file !== undefined && <code>{file}</code>}
        {file !== undefined && '. The gateway does not write to it.'}
      </p>
      <div className="cmd-block">
        <pre className="code code-plain soft">
          <span>{entry}</span>
        </pre>
        <CopyButton text={entry} label="Copy the entry" />
      </div>
      {tokenSource === 'pasted' ? (
        <Note kind="ask">This agent cannot read variables, so the token is part of the entry.</Note>
      ) : (
        <div className="bar-line">
          <span>
            Set <code>{variable}</code> in the environment of the agent to
          </span>
          <code className="token">{token}</code>
          <CopyButton text={token} label="Copy the token" />
        </div>
      )}
      <Note>The token is shown only now. It is valid until {expires.slice(0, 10)}.</Note>
    </section>
  )
}
