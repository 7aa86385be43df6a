import type { LoggedEvent } from '@sallyport/core'

/** Who reads so slowly that this much waits for him is let go: the log holds what he missed. */
const BACKLOG_BYTES = 4_000_000
const KEEP_ALIVE_EVERY = 25_000

export interface EventFeedOptions {
  readonly watch: (listener: (event: LoggedEvent) => void) => () => void
  readonly matches: (event: LoggedEvent) => boolean
  /** What happened before, oldest first. */
  readonly earlier: () => readonly LoggedEvent[]
}

const encoder = new TextEncoder()

/** Events as server-sent events: some that were, then each as it happens. */
export function createEventFeed({ watch, matches, earlier }: EventFeedOptions): ReadableStream<Uint8Array> {
  let stop = (): void => {}
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        const say = (text: string): void => controller.enqueue(encoder.encode(text))
        const unwatch = watch((event) => {
          if (!matches(event)) return
          say(eventText(event))
          if ((controller.desiredSize ?? 0) > 0) return
          stop()
          say('event: overrun\ndata: {"reason":"Too much was waiting to be read. Connect again."}\n\n')
          controller.close()
        })
        const timer = setInterval(() => say(': still here\n\n'), KEEP_ALIVE_EVERY)
        timer.unref()
        stop = () => {
          unwatch()
          clearInterval(timer)
        }
        // Nothing is appended between these two: both are synchronous.
        say(': following\n\n')
        for (const event of earlier()) say(eventText(event))
      },
      cancel: () => stop(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: BACKLOG_BYTES }),
  )
}

/** JSON holds no line breaks, so that one `data` line always suffices. */
const eventText = (event: LoggedEvent): string => `id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`
