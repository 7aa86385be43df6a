import { useEffect, useState } from 'react'

const REDUCED = matchMedia('(prefers-reduced-motion: reduce)')

/** The current time, for countdowns. People who want less motion get a step every 15 seconds. */
export function useNow(stepMs = 1_000): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), REDUCED.matches ? Math.max(stepMs, 15_000) : stepMs)
    return () => clearInterval(timer)
  }, [stepMs])
  return now
}
