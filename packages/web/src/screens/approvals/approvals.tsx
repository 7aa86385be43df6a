import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from 'react-router'
import type { ApprovalView } from '../../../../gateway/src/serve/api/api.ts'
import { approvalsQuery } from '../../api/queries.ts'
import { Page } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { useShortcuts } from '../../shell/shortcuts.ts'
import { NotifyButton } from './notify.tsx'
import { Request } from './request.tsx'
import { WaitingList } from './waiting-list.tsx'
import './approvals.css'

export const Approvals = () => (
  <Page
    title="Approvals"
    lead="Oldest first. A call that nobody answers is refused and never sent."
    actions={<NotifyButton />}
  >
    <Loaded query={useQuery(approvalsQuery)} what="the calls that wait">
      {(approvals) => <Inbox approvals={approvals} />}
    </Loaded>
  </Page>
)

function Inbox({ approvals }: { readonly approvals: readonly ApprovalView[] }) {
  const { id } = useParams()
  const navigate = useNavigate()
  // The address names a call that is already answered: the next one is shown instead.
  const index = Math.max(
    0,
    approvals.findIndex((approval) => approval.id === id),
  )
  const current = approvals[index]
  const select = (to: number): void => {
    const next = approvals[Math.min(Math.max(to, 0), approvals.length - 1)]
    if (next) void navigate(`/approvals/${next.id}`, { replace: true })
  }
  useShortcuts([
    { keys: 'j', title: 'Next call', run: () => select(index + 1) },
    { keys: 'k', title: 'Previous call', run: () => select(index - 1) },
  ])
  if (current === undefined)
    return (
      <Empty title="Nothing waits for you" command="sallyport approvals watch">
        Calls that need a person appear here and in the title of the page. To answer them in a terminal instead:
      </Empty>
    )
  return (
    <div className="panel inbox">
      <WaitingList approvals={approvals} current={current} />
      <Request key={current.id} approval={current} />
    </div>
  )
}
