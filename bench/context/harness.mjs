/** The helpers of the agent tests, as `tsc -p tests/agents` built it: a bench in plain JavaScript cannot read TypeScript. */
const built = (path) => import(new URL(`../../.agents/${path}`, import.meta.url).href)

export const { openScriptedModel } = await built('agents/scripted-model.js')
export const { answerByScript, DONE } = await built('agents/scripted-answer.js')
export const { playAgent } = await built('agents/played-agent.js')
export const { findInstalled } = await built('agents/installed-agent.js')
export const { AGENT_CLIS } = await built('agents/clis/clis.js')
export const { LegacyClient } = await built('mcp-client.js')
export const { makePlace, runGateway } = await built('run-gateway.js')
