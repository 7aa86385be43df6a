import { once } from 'node:events';
import { createServer } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { ANSWER_WRITERS, sendJson } from './model-answers.js';
import { REQUEST_READERS } from './model-requests.js';
import { answerByScript, fullName, progressOf, } from './scripted-answer.js';
const ROUTES = [
    [/\/messages$/, 'anthropic'],
    [/\/chat\/completions$/, 'chat'],
    [/\/responses$/, 'responses'],
    [/:(stream)?generateContent$/i, 'gemini'],
];
/** What clients ask besides; the path may have any prefix. */
const ASIDES = [
    [/\/messages\/count_tokens$/, { input_tokens: 100 }],
    [/:countTokens$/, { totalTokens: 100 }],
    [
        /\/models$/,
        { object: 'list', has_more: false, data: [{ id: 'scripted', object: 'model', type: 'model' }], models: [] },
    ],
];
export async function openScriptedModel(options = {}) {
    const model = new ScriptedModel(options);
    await model.listen();
    return model;
}
/** A language model on loopback whose prompt is its script: see script.ts. */
export class ScriptedModel {
    requests = [];
    /** What was asked for that it does not have. */
    unknown = [];
    #before;
    #answers;
    #server = createServer((request, response) => {
        this.#answer(request, response).catch((error) => sendJson(response, { error: { message: error.message } }, 400));
    });
    constructor({ before = async () => { }, decide = answerByScript }) {
        this.#before = before;
        this.#answers = decide;
    }
    get url() {
        return `http://127.0.0.1:${this.#server.address().port}`;
    }
    async listen() {
        this.#server.listen(0, '127.0.0.1');
        await once(this.#server, 'listening');
    }
    async close() {
        const closed = once(this.#server, 'close');
        this.#server.close();
        this.#server.closeAllConnections();
        await closed;
    }
    async #answer(request, response) {
        const url = new URL(request.url ?? '/', this.url);
        const text = await readText(request);
        const api = ROUTES.find(([path]) => path.test(url.pathname))?.[1];
        if (request.method === 'POST' && api) {
            const body = JSON.parse(text);
            return ANSWER_WRITERS[api]({ response, body, url, answer: await this.#decide(api, body, text) });
        }
        const aside = ASIDES.find(([path]) => path.test(url.pathname))?.[1];
        if (aside)
            return sendJson(response, aside);
        this.unknown.push(`${request.method} ${url.pathname}`);
        sendJson(response, { error: { type: 'not_found_error', message: `The scripted model has no ${url.pathname}.` } }, 404);
    }
    async #decide(api, body, text) {
        const read = REQUEST_READERS[api](body);
        const answer = this.#answers({ ...read, everything: text.replace(/\\[nrt]/g, ' ') });
        const { results, searches } = progressOf(read);
        const request = { api, tools: read.tools.map(fullName), results, searches, answer, body: text };
        this.requests.push(request);
        await this.#before(request);
        if ('calls' in answer)
            await delay(Math.max(0, ...answer.calls.map(({ waitMs = 0 }) => waitMs)));
        return answer;
    }
}
