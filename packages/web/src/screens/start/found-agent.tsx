import { Check, Equal, Minus, Plus } from 'lucide-react'
import { Link } from 'react-router'
import type { FoundAgents } from '../../../../gateway/src/serve/api/api.ts'
import { ForeignName, ForeignText } from '../../parts/foreign-text.tsx'
import { Note } from '../../parts/states.tsx'

const MAX_TEXT = 500

type Agent = FoundAgents['agents'][number]
type AgentFile = Agent['files'][number]
type FoundServer = AgentFile['servers'][number]

/** In words: what `sallyport run` can hold this agent to. */
const ENFORCEMENT: Readonly<Record<Agent['enforcement'], string>> = {
  strict: 'A launch gives it the gateway’s servers alone',
  partial: 'A launch cannot keep its own servers from it',
  none: 'Paste an entry to connect it',
}

interface FoundAgentProps {
  readonly agent: Agent
  readonly importable: FoundAgents['importable']
}

/** One agent: its files, and what an import would do with each server in them. */
export function FoundAgent({ agent: found, importable }: FoundAgentProps) {
  const { agent, title, supportsMcp, program, enforcement, files } = found
  const present = files.filter(({ state }) => state !== 'missing')
  return (
    <li className="found-agent">
      <div className="stack-s">
        <h2>{title}</h2>
        <p className="small muted">{program === undefined ? 'Its program was not found' : <code>{program}</code>}</p>
        <p className="small muted">{supportsMcp ? ENFORCEMENT[enforcement] : 'It cannot use MCP servers'}</p>
        <p className="small">
          <Link to={`/settings/mcp/${encodeURIComponent(agent)}`} aria-label={`Settings of ${title}`}>
            Settings
          </Link>
        </p>
      </div>
      <div className="stack-s">
        {present.length === 0 && <p className="muted">It has no file yet.</p>}
        {present.map((file) => (
          <FoundFile key={`${file.scope} ${file.path}`} agent={agent} file={file} importable={importable} />
        ))}
      </div>
    </li>
  )
}

interface FoundFileProps {
  readonly agent: string
  readonly file: AgentFile
  readonly importable: FoundAgents['importable']
}

const FoundFile = ({ agent, file: { path, scope, problems, servers }, importable }: FoundFileProps) => (
  <div className="found-file">
    <p className="small muted">
      <ForeignName name={path} />
      {scope === 'project' && ' · came with the working folder'}
    </p>
    {problems.map((problem) => (
      <Note key={problem} kind="bad">
        <ForeignText text={problem} limit={MAX_TEXT} />
      </Note>
    ))}
    {servers.length === 0 && problems.length === 0 && <p className="muted">No MCP server is in it.</p>}
    <ul>
      {servers.map((server) => (
        <li key={server.name} className="found-server">
          <Outcome agent={agent} server={server} importable={importable} />
        </li>
      ))}
    </ul>
  </div>
)

interface OutcomeProps {
  readonly agent: string
  readonly server: FoundServer
  readonly importable: FoundAgents['importable']
}

/** What becomes of a server: it is there already, it will be added, or why it will not. */
function Outcome({ agent, server: { name, id, why }, importable }: OutcomeProps) {
  if (id !== undefined)
    return (
      <>
        <Check className="i i-s t-ok" aria-hidden="true" />
        <ForeignName name={name} />
        <Link className="small" to={`/servers/${encodeURIComponent(id)}`}>
          {id === name ? 'in config.yaml' : `in config.yaml as ${id}`}
        </Link>
      </>
    )
  const added = importable.find(({ from }) => from.some((origin) => origin.agent === agent && origin.name === name))
  const [first] = added?.from ?? []
  if (added === undefined || first === undefined)
    return (
      <>
        <Minus className="i i-s faint" aria-hidden="true" />
        <ForeignName name={name} />
        <span className="small muted">
          left out:{' '}
          <ForeignText
            text={why ?? 'it came with the working folder, and anybody may have written it.'}
            limit={MAX_TEXT}
          />
        </span>
      </>
    )
  const isFirst = first.agent === agent && first.name === name
  const Sign = isFirst ? Plus : Equal
  return (
    <>
      <Sign className="i i-s" aria-hidden="true" />
      <ForeignName name={name} />
      <span className="small muted">
        {isFirst ? (
          `will be added${added.id === name ? '' : ` as ${added.id}`}`
        ) : (
          <>
            the same as <ForeignName name={first.name} /> of {first.agent}
          </>
        )}
      </span>
    </>
  )
}
