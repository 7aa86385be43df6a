import { useQuery } from '@tanstack/react-query'
import { Link, useParams, useSearchParams } from 'react-router'
import type { RuledTool } from '../../../../gateway/src/serve/api/api.ts'
import { ForeignText } from '../../parts/foreign-text.tsx'
import { formatCount } from '../../parts/format.ts'
import { Page } from '../../parts/page.tsx'
import { Loaded, Note } from '../../parts/states.tsx'
import { EditDock } from './edit-dock.tsx'
import { ReviewList, useReviewedNames } from './review-list.tsx'
import { RuleTable } from './rule-table.tsx'
import { fileQuery, rulesQuery } from './rules.ts'
import { ToolRules } from './tool-rules.tsx'
import './governance.css'

/** The rules of tools.yaml: `/governance/mcp__a__b` is one tool, `?pin=changed` what has to be reviewed. */
export function Governance() {
  const { name } = useParams()
  const query = useQuery(rulesQuery)
  if (name !== undefined) return <ToolRules key={name} name={name} rules={query.data?.tools ?? []} />
  return (
    <Page
      title="Governance"
      lead={<FileLine path={query.data?.path} />}
      actions={query.data && <Tabs tools={query.data.tools} />}
    >
      <Loaded query={query} what="the rules of the tools">
        {({ tools }) => <Screen tools={tools} />}
      </Loaded>
    </Page>
  )
}

function Screen({ tools }: { readonly tools: readonly RuledTool[] }) {
  const [search] = useSearchParams()
  return (
    <div className="stack governance">
      <FileProblems />
      {search.get('pin') === 'changed' ? <ReviewList tools={tools} /> : <RuleTable tools={tools} />}
      <EditDock tools={tools} />
    </div>
  )
}

function FileLine({ path }: { readonly path: string | undefined }) {
  const file = useQuery(fileQuery).data
  if (path === undefined) return 'What tools.yaml says about every tool.'
  return (
    <>
      <code>{path}</code>
      {file && ` · ${formatCount(file.entries, 'entry').replace('entrys', 'entries')} in force`}
    </>
  )
}

function Tabs({ tools }: { readonly tools: readonly RuledTool[] }) {
  const [search] = useSearchParams()
  const count = useReviewedNames(tools).length
  const isReview = search.get('pin') === 'changed'
  return (
    <nav className="segment" aria-label="View">
      <Link to="/governance" aria-current={isReview ? undefined : 'page'}>
        Rules
      </Link>
      <Link to="/governance?pin=changed" aria-current={isReview ? 'page' : undefined}>
        To review {count > 0 && <span className="n n-bad">{count}</span>}
      </Link>
    </nav>
  )
}

/** Why the file on disk is not in force, or a line of it has no effect. What single tools need is beside them. */
function FileProblems() {
  const problems = useQuery(fileQuery).data?.problems.filter(({ tool }) => tool === undefined) ?? []
  const [first, ...more] = problems.toSorted((a, b) => Number(b.level === 'wrong') - Number(a.level === 'wrong'))
  if (first === undefined) return null
  return (
    <Note kind={first.level === 'wrong' ? 'bad' : 'ask'}>
      <p>
        <strong>
          <ForeignText text={first.problem} limit={500} />
        </strong>
      </p>
      <p className="small">
        {first.fix}
        {more.length > 0 && (
          <>
            {' '}
            {formatCount(more.length, 'more problem')}: <code>sallyport tools check</code>
          </>
        )}
      </p>
    </Note>
  )
}
