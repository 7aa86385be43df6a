import { claudeCode } from './claude-code.js';
import { cline } from './cline.js';
import { codex } from './codex.js';
import { continueCli } from './continue.js';
import { copilot } from './copilot.js';
import { droid } from './droid.js';
import { geminiCli } from './gemini-cli.js';
import { goose } from './goose.js';
import { kilo } from './kilo.js';
import { kimi } from './kimi.js';
import { opencode } from './opencode.js';
import { qwenCode } from './qwen-code.js';
/** Every agent that can be driven without an account. */
export const AGENT_CLIS = [
    ...[claudeCode, codex, geminiCli, opencode, qwenCode, copilot, goose],
    ...[continueCli, droid, kilo, cline, kimi],
];
