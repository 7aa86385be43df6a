import { Page } from '../../parts/page.tsx'
export const Approvals = () => (
  <Page title="Approvals">
    <p>…</p>
  </Page>
)
