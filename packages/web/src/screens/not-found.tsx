import { Link } from 'react-router'
import { Page } from '../parts/page.tsx'
import { Empty } from '../parts/states.tsx'

export const NotFound = () => (
  <Page title="There is no such page">
    <Empty title="This address leads nowhere">
      It may come from another version of Sallyport. <Link to="/">Go to the overview</Link>
    </Empty>
  </Page>
)
