import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MAIN, makePlace, readRecords } from '../run-gateway.js';
import { makeAgentPlace } from './agent-place.js';
import { runAgent } from './agent-run.js';
import { openScriptedModel } from './scripted-model.js';
import { endSurvivors } from './survivors.js';
/** Starts an agent by `sallyport run` with a home of its own, and lets the script play. */
export async function playAgent(cli, { bin }, play) {
    const model = await openScriptedModel();
    const gateway = makePlace();
    gateway.writeConfig(play.config(model.url));
    if (play.tools)
        writeFileSync(join(gateway.home, 'tools.yaml'), JSON.stringify({ tools: play.tools }));
    const place = makeAgentPlace(cli, { model: model.url, servers: {} });
    const run = [process.execPath, MAIN, 'run', cli.id, '--home', gateway.home, '--state', gateway.state];
    const command = [...run, '--', ...cli.headless(play.script.join('\n'))];
    try {
        const outcome = await runAgent({ command, place, bin, environment: cli.environment(model.url) });
        await endSurvivors(place);
        const records = existsSync(join(gateway.state, 'logs')) ? readRecords(gateway.state) : [];
        return { outcome, requests: model.requests, records, results: mostResults(model.requests) };
    }
    finally {
        await model.close();
        place.remove();
        gateway.remove();
    }
}
const mostResults = (requests) => requests.reduce((most, { results }) => (results.length > most.length ? results : most), []);
