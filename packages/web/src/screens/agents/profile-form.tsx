import { useIsMutating, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useNavigate } from 'react-router'
import type { Agent } from '../../api/queries.ts'
import { type DiffLine, DiffView } from '../../parts/diff-view.tsx'
import { Failed, Loading, Note } from '../../parts/states.tsx'
import { useMay } from '../../shell/roles.ts'
import { useToast } from '../../shell/toasts.tsx'
import {
  type AgentTools,
  agentToolsQuery,
  deleteProfile,
  type Profile,
  type ProfileConflict,
  type ProfileRef,
  type Profiles,
  saveProfile,
  variantOf,
} from './agents-queries.ts'
import { useLastUses } from './last-uses.ts'
import { TokenMeter } from './token-meter.tsx'
import { ToolPicker } from './tool-picker.tsx'
import { isSameSelection, readSelection, sumGiven, type ToolSelection, toSelectors } from './tool-selection.ts'

interface ProfileFormProps {
  readonly profile: ProfileRef
  readonly agents: readonly Agent[]
  readonly file: Profiles
}

/** Which tools one profile gets, with what that costs. */
export function ProfileForm({ profile: ref, agents, file }: ProfileFormProps) {
  // The event of the deletion may arrive before we have left the profile.
  const isDeleting = useIsMutating({ mutationKey: DELETE_KEY }) > 0
  const tools = useQuery({ ...agentToolsQuery(ref), enabled: !isDeleting })
  const agent = agents.find(({ id }) => id === ref.agent)
  if (tools.data === undefined)
    return tools.error === null ? (
      <Loading what={`the MCP tools of ${agent?.title ?? ref.agent}`} />
    ) : (
      <Failed error={tools.error} onRetry={() => void tools.refetch()} />
    )
  if (!tools.data.supportsMcp)
    return <Note>{agent?.title ?? ref.agent} cannot use MCP servers, so there is nothing to select.</Note>
  const profile = file.profiles.find((one) => one.agent === ref.agent && variantOf(one) === ref.variant)
  return <SelectionForm profile={ref} title={agent?.title ?? ref.agent} written={profile} tools={tools.data} />
}

interface SelectionFormProps {
  readonly profile: ProfileRef
  /** Of the agent. */
  readonly title: string
  /** `undefined`: it is not in the file. */
  readonly written: Profile | undefined
  readonly tools: AgentTools
}

/** What was read when the first change was made: only that may be overwritten. */
interface Edit {
  readonly written: Profile | undefined
  readonly selection: ToolSelection
  readonly tokenBudget: number | undefined
}

function SelectionForm({ profile, title, written, tools }: SelectionFormProps) {
  const [edit, setEdit] = useState<Edit>()
  const [pointed, setPointed] = useState<{ readonly tokens: number; readonly isSelected: boolean }>()
  const { servers } = tools
  const before = readSelection(tools)
  const base: Edit = edit ?? { written, selection: before, tokenBudget: written?.tokenBudget }
  const { selection, tokenBudget } = base
  const mayChange = useMay('operator')
  const uses = useLastUses(profile.agent)
  const saving = useSaveProfile({ profile, onSaved: () => setEdit(undefined) })
  const isChanged =
    edit !== undefined && !(isSameSelection(selection, before, servers) && tokenBudget === written?.tokenBudget)
  const conflict = saving.data
  const isDisabled = !mayChange || saving.isPending
  const save = (seen: Profile | undefined): void =>
    saving.mutate({ seen, base, selectors: toSelectors(selection, servers), tokenBudget })
  return (
    <section className="panel picker" aria-labelledby="selection-title">
      <div className="pad">
        <h2 id="selection-title" className="label-text">
          MCP Tool Selection
        </h2>
        <p className="help">
          Choose the MCP tools that this agent can use. Nothing selected means all of them. A change takes effect at
          once; running clients are told.
        </p>
        {written?.inheritsSelection && (
          <Note kind="info">
            This selection is written once for all profiles of {title}. Saving writes one for this profile alone.
          </Note>
        )}
      </div>
      <ToolPicker
        title={title}
        servers={servers}
        selection={selection}
        uses={uses}
        isDisabled={isDisabled}
        onChange={(next) => setEdit({ ...base, selection: next })}
        onPoint={setPointed}
      />
      <TokenMeter
        tokens={sumGiven(selection, servers).tokens}
        budget={tokenBudget}
        pointed={pointed}
        isDisabled={isDisabled}
        onBudget={(next) => setEdit({ ...base, tokenBudget: next })}
      />
      {conflict && (
        <Conflict
          conflict={conflict}
          onTheirs={() => {
            setEdit(undefined)
            saving.reset()
          }}
          onMine={() => save(conflict.current)}
        />
      )}
      {saving.error && <Failed error={saving.error} />}
      {isChanged && !conflict && (
        <SaveBar
          before={formatProfile(written?.selectedMcpTools, written?.tokenBudget)}
          after={formatProfile(toSelectors(selection, servers), tokenBudget)}
          isSaving={saving.isPending}
          onSave={() => save(base.written)}
          onDiscard={() => setEdit(undefined)}
        />
      )}
      {!isChanged && written && mayChange && profile.variant !== 'default' && (
        <DeleteProfile profile={profile} written={written} />
      )}
    </section>
  )
}

interface SaveRequest {
  /** Only this version may be overwritten. */
  readonly seen: Profile | undefined
  readonly base: Edit
  readonly selectors: readonly string[] | undefined
  readonly tokenBudget: number | undefined
}

/** Resolves to a conflict if somebody else changed this profile meanwhile. */
function useSaveProfile({ profile, onSaved }: { readonly profile: ProfileRef; readonly onSaved: () => void }) {
  const client = useQueryClient()
  const toast = useToast()
  return useMutation({
    mutationFn: ({ seen, base, selectors, tokenBudget }: SaveRequest): Promise<ProfileConflict | undefined> => {
      const { written } = base
      const fields = {
        ...(written?.title !== undefined && { title: written.title }),
        ...(written?.session !== undefined && { session: written.session }),
        ...(written?.clientApproval !== undefined && { clientApproval: written.clientApproval }),
        ...(selectors && { selectedMcpTools: selectors }),
        ...(tokenBudget !== undefined && { tokenBudget }),
      }
      return saveProfile(profile, fields, seen)
    },
    onSuccess: async (conflict) => {
      await client.invalidateQueries({ queryKey: ['profiles'] })
      await client.invalidateQueries({ queryKey: ['agents'] })
      if (conflict) return
      onSaved()
      toast(`${profile.agent}.${profile.variant} is saved, and in force.`)
    },
  })
}

interface ConflictProps {
  readonly conflict: ProfileConflict
  readonly onTheirs: () => void
  readonly onMine: () => void
}

function Conflict({ conflict: { current }, onTheirs, onMine }: ConflictProps) {
  return (
    <div className="savebar conflict" role="alert">
      <p className="grow">
        <strong>Somebody else changed this profile meanwhile.</strong> Now it{' '}
        {current === undefined ? 'is not in profiles.json any more' : `selects ${describe(current.selectedMcpTools)}`}.
        Nothing of yours was written.
      </p>
      <button className="btn" type="button" onClick={onTheirs}>
        Show theirs
      </button>
      <button className="btn btn-danger" type="button" onClick={onMine}>
        Overwrite with mine
      </button>
    </div>
  )
}

function describe(selectors: readonly string[] | undefined): string {
  if (selectors === undefined) return 'all tools'
  return selectors.length === 0 ? 'no tool' : selectors.join(', ')
}

interface SaveBarProps {
  readonly before: readonly string[]
  readonly after: readonly string[]
  readonly isSaving: boolean
  readonly onSave: () => void
  readonly onDiscard: () => void
}

/** The exact change, before it is written. */
function SaveBar({ before, after, isSaving, onSave, onDiscard }: SaveBarProps) {
  return (
    <div className="save-dock">
      <DiffView
        title="The change of profiles.json"
        lines={[...listMissing(before, after, '-'), ...listMissing(after, before, '+')]}
      />
      <div className="savebar">
        <span className="grow">Not saved yet. This is what changes in profiles.json.</span>
        <button className="btn btn-ghost" type="button" onClick={onDiscard} disabled={isSaving}>
          Discard
        </button>
        <button className="btn btn-primary" type="button" onClick={onSave} disabled={isSaving}>
          {isSaving ? 'Saving…' : 'Save'}
        </button>
      </div>
    </div>
  )
}

/** What profiles.json says about the profile, a line for each selector. */
const formatProfile = (
  selectors: readonly string[] | undefined,
  tokenBudget: number | undefined,
): readonly string[] => [
  ...(selectors === undefined
    ? ['no "selected_mcp_tools": all tools']
    : [
        `"selected_mcp_tools":${selectors.length === 0 ? ' []' : ''}`,
        ...selectors.map((selector) => `  ${JSON.stringify(selector)}`),
      ]),
  ...(tokenBudget === undefined ? [] : [`"token_budget": ${tokenBudget}`]),
]

/** The order of selectors means nothing, so a change is what is only in one of the lists. */
function listMissing(lines: readonly string[], others: readonly string[], mark: DiffLine['mark']): readonly DiffLine[] {
  const known = new Set(others)
  return lines.filter((text) => !known.has(text)).map((text) => ({ mark, text }))
}

const DELETE_KEY = ['delete-profile']

function DeleteProfile({ profile, written }: { readonly profile: ProfileRef; readonly written: Profile }) {
  const [isAsking, ask] = useState(false)
  const client = useQueryClient()
  const navigate = useNavigate()
  const name = `${profile.agent}.${profile.variant}`
  const deleting = useMutation({
    mutationKey: DELETE_KEY,
    mutationFn: () => deleteProfile(profile, written),
    onSuccess: async () => {
      // First away from it: its tools cannot be read any more.
      await navigate(`/agents/${encodeURIComponent(`${profile.agent}.default`)}`)
      client.removeQueries({ queryKey: agentToolsQuery(profile).queryKey })
      await client.invalidateQueries({ queryKey: ['profiles'] })
    },
  })
  return (
    <div className="picker-foot">
      {deleting.error && <Failed error={deleting.error} />}
      {isAsking ? (
        <>
          <span className="grow">Delete {name}? Agents with a token for it then get no tool.</span>
          <button className="btn btn-s" type="button" onClick={() => ask(false)}>
            Keep it
          </button>
          <button className="btn btn-s btn-danger" type="button" onClick={() => deleting.mutate()}>
            Delete
          </button>
        </>
      ) : (
        <button className="btn btn-s btn-ghost" type="button" onClick={() => ask(true)}>
          Delete this profile…
        </button>
      )}
    </div>
  )
}
