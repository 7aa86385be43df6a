import './styles/main.css'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { createBrowserRouter } from 'react-router'
import { RouterProvider } from 'react-router/dom'
import { ApiError } from './api/client.ts'
import { eventStream } from './api/event-stream.ts'
import { refreshByEvents } from './api/event-topics.ts'
import { Loading } from './parts/states.tsx'
import { NotFound } from './screens/not-found.tsx'
import { SCREENS } from './screens/screens.ts'
import { BrokenScreen } from './shell/broken-screen.tsx'
import { Shell } from './shell/shell.tsx'
import { applyTheme } from './shell/theme.ts'
import { ToastProvider } from './shell/toasts.tsx'

const MAX_RETRIES = 2

const client = new QueryClient({
  defaultOptions: {
    queries: {
      // Events say when something changed: nothing is stale by age, and nothing is polled.
      staleTime: Number.POSITIVE_INFINITY,
      // What was refused once is refused again; a gateway that restarts comes back.
      retry: (count, error) => !(error instanceof ApiError && error.status < 500) && count < MAX_RETRIES,
      refetchOnWindowFocus: false,
    },
  },
})

const router = createBrowserRouter([
  {
    element: <Shell />,
    hydrateFallbackElement: <Loading what="the page" />,
    errorElement: <BrokenScreen />,
    children: [
      ...SCREENS.map(({ path, load }) => ({ path, lazy: load, errorElement: <BrokenScreen /> })),
      { path: '*', element: <NotFound /> },
    ],
  },
])

applyTheme()
eventStream.start()
refreshByEvents(client)

const app = document.getElementById('app')
if (app === null) throw new Error('index.html has no element #app.')
createRoot(app).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <ToastProvider>
        <RouterProvider router={router} />
      </ToastProvider>
    </QueryClientProvider>
  </StrictMode>,
)
