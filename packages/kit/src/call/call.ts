export type { Elicited, ElicitOptions } from './elicitation.ts'
export { OutgoingRequests } from './outgoing-requests.ts'
export { type CallBinding, ParkedCalls } from './parked-calls.ts'
export { type CallContext, createCallContext, type RoundTrip, RunningCall, type SampleRequest } from './running-call.ts'
