/** How often a test repeats what rarely breaks: `npm test` a few times, `.ci/run` and `npm run test:full` many times. */
export const roundsOf = ({ few, many }: { readonly few: number; readonly many: number }): number =>
  ['ci', 'full'].includes(process.env.SALLYPORT_TESTS ?? '') ? many : few
