import { useQuery } from '@tanstack/react-query'
import { Link } from 'react-router'
import type { AgentFiles as AgentFilesView } from '../../../../gateway/src/serve/api/api.ts'
import { api, read } from '../../api/client.ts'
import { ConfigChange, useConfigChange } from '../../parts/config-change.tsx'
import { ForeignName, ForeignText } from '../../parts/foreign-text.tsx'
import { Panel } from '../../parts/page.tsx'
import { Loaded, Note } from '../../parts/states.tsx'
import { useMay } from '../../shell/roles.ts'

const MAX_TEXT = 2_000

type AgentFile = AgentFilesView['files'][number]
type NativeServer = AgentFile['servers'][number]

/** The agent's own files, with the servers that config.yaml may take over. */
export function AgentFiles({ agent }: { readonly agent: string }) {
  const query = useQuery({
    queryKey: ['agents', agent, 'own', 'files'],
    queryFn: () => read(api.agents[':agent'].files.$get({ param: { agent: encodeURIComponent(agent) } })),
  })
  return (
    <Loaded query={query} what="the files of the agent">
      {({ title, program, files }) => (
        <>
          <p className="muted">
            {program === undefined ? (
              `The program of ${title} was not found on this machine.`
            ) : (
              <>
                {title} is installed as <code>{program}</code>.
              </>
            )}
          </p>
          {files.map((file) => (
            <FilePanel key={`${file.scope} ${file.path}`} agent={agent} file={file} />
          ))}
        </>
      )}
    </Loaded>
  )
}

const SCOPES: Readonly<Record<AgentFile['scope'], string>> = {
  user: 'of the user',
  project: 'of the working folder, which anybody may have written',
  local: 'of this user in the working folder',
}

function FilePanel({ agent, file: { path, scope, state, problems, servers } }: FileProps) {
  const change = useConfigChange()
  const take = (names: readonly string[]): void =>
    change.show([{ kind: 'import', agent, servers: [...names], projects: scope !== 'user' }])
  const mayChange = useMay('operator')
  return (
    <Panel title={<ForeignName name={path} />} sub={state === 'missing' ? 'not there' : SCOPES[scope]}>
      {state !== 'missing' && (
        <div className="pad stack-s">
          {problems.map((problem) => (
            <Note key={problem} kind="bad">
              <ForeignText text={problem} limit={MAX_TEXT} />
            </Note>
          ))}
          {state === 'read' && servers.length === 0 && <p className="muted">No MCP server is in it.</p>}
          <ul>
            {servers.map((server) => (
              <NativeRow key={server.name} server={server} onTake={mayChange ? () => take([server.name]) : undefined} />
            ))}
          </ul>
          <ConfigChange change={change} />
        </div>
      )}
    </Panel>
  )
}

interface FileProps {
  readonly agent: string
  readonly file: AgentFile
}

interface NativeRowProps {
  readonly server: NativeServer
  readonly onTake: (() => void) | undefined
}

function NativeRow({ server: { name, entry, why, notes, id }, onTake }: NativeRowProps) {
  return (
    <li className="native">
      <div className="min-w-0 grow">
        <ForeignName name={name} />
        {entry && (
          <p className="small muted">
            <ForeignText text={JSON.stringify(entry)} limit={200} />
          </p>
        )}
        {[...notes, ...(why === undefined ? [] : [why])].map((text) => (
          <p key={text} className="small muted">
            <ForeignText text={text} limit={MAX_TEXT} />
          </p>
        ))}
      </div>
      {id !== undefined && (
        <Link className="small" to={`/servers/${encodeURIComponent(id)}`}>
          in config.yaml
        </Link>
      )}
      {id === undefined && entry && onTake && (
        <button className="btn btn-s" type="button" aria-label={`Import ${name}…`} onClick={onTake}>
          Import…
        </button>
      )}
    </li>
  )
}
