import { useQuery } from '@tanstack/react-query'
import { useSearchParams } from 'react-router'
import type { ToolView } from '../../../../gateway/src/serve/api/api.ts'
import { changedToolsQuery, toolsQuery } from '../../api/queries.ts'
import { ForeignName } from '../../parts/foreign-text.tsx'
import { formatCount } from '../../parts/format.ts'
import { Page } from '../../parts/page.tsx'
import { PermissionSign, RiskSign } from '../../parts/signs.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { VirtualRows } from '../../parts/virtual-rows.tsx'
import './governance.css'

const ROW_HEIGHT = 36

export function Governance() {
  const [search] = useSearchParams()
  const isChanged = search.get('pin') === 'changed'
  const query = useQuery(isChanged ? changedToolsQuery : toolsQuery)
  return (
    <Page title={isChanged ? 'Changed definitions' : 'Governance'} lead="What tools.yaml says about every tool.">
      <Loaded query={query} what="the tools">
        {(tools) => <ToolTable tools={tools} />}
      </Loaded>
    </Page>
  )
}

function ToolTable({ tools }: { readonly tools: readonly ToolView[] }) {
  if (tools.length === 0)
    return (
      <Empty title="No tool here" command="sallyport tools">
        What a server offers appears here when it has answered once.
      </Empty>
    )
  return (
    <VirtualRows
      className="panel tools-table"
      rows={tools}
      rowHeight={ROW_HEIGHT}
      keyOf={({ canonical }) => canonical}
      label={formatCount(tools.length, 'tool')}
      renderRow={(tool) => (
        <div className="row">
          <ForeignName name={`${tool.server}/${tool.tool}`} className="grow cut" />
          <PermissionSign permission={tool.permission} />
          <RiskSign risk={tool.risk} />
        </div>
      )}
    />
  )
}
