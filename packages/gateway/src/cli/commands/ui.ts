import { SallyportError } from '@sallyport/core'
import { defineCommand } from '../define-command.ts'
import { resolveState } from '../find-home.ts'
import { findRunningGateway } from '../gateway/with-gateway.ts'
import { createScreen } from '../terminal/screen.ts'

export const uiCommand = defineCommand<object>({
  brief: 'Print a link that opens the web UI of the running gateway',
  description: 'The link logs one browser in, once, within ten minutes.',
  examples: [
    ['ui', 'Print the link'],
    ['ui | xargs xdg-open', 'Open it at once'],
  ],
  flags: {},
  run: async (context, flags) => {
    const screen = createScreen(context, flags)
    const gateway = await findRunningGateway(resolveState(context, flags))
    if (gateway === undefined) throw noPage('No gateway runs on this state.')
    const [url] = (await gateway.status()).urls
    if (url === undefined) throw noPage('The gateway that runs on this state has no port.')
    const link = new URL(await gateway.loginPath(), url).href
    if (screen.json) return screen.printJson({ url: link })
    screen.print(`${link}\n`)
  },
})

const noPage = (message: string): SallyportError =>
  new SallyportError('GATEWAY_UNREACHABLE', message, { hint: 'Start `sallyport serve`, then try again.' })
