import { decide, MAX_PAYLOAD_BYTES, newRun, parseDefinition, type TemplateScope } from '@baton/core';
import { compileTemplate, templateCompiler } from './compile.js';

interface Given {
  readonly input?: string | null;
  readonly outputs?: Readonly<Record<string, string>>;
}

function scope({ input = null, outputs = {} }: Given): TemplateScope {
  return {
    input,
    output: (nodeId) => (Object.hasOwn(outputs, nodeId) ? outputs[nodeId] : undefined),
    run: { id: 'run-1', definition: 'order', version: 3 },
  };
}

function render(source: string, given: Given = {}): string {
  const compiled = compileTemplate(source);
  if (!compiled.ok) return compiled.issues.map((issue) => `${issue.code} ${issue.pointer}`).join(', ');
  const result = compiled.template.render(scope(given));
  return result.ok ? result.text : result.code;
}

function issues(source: string): string[] {
  const compiled = compileTemplate(source);
  return compiled.ok ? [] : compiled.issues.map((issue) => `${issue.code} ${issue.pointer}`);
}

function warnings(source: string): string[] {
  const compiled = compileTemplate(source);
  return compiled.ok ? compiled.warnings.map((issue) => `${issue.code} ${issue.pointer}`) : ['does not compile'];
}

describe('a template', () => {
  it('B92: types survive a whole-value expression; scalars go into text; a backslash makes it text', () => {
    const source = JSON.stringify({
      a: '${input.n}',
      b: 'n=${input.n}',
      c: '${input.obj}',
      d: '${input.arr}',
      e: '\\${input.n}',
    });
    expect(render(source, { input: '{"n":1,"obj":{"k":true},"arr":[1,"2"]}' })).toBe(
      '{"a":1,"b":"n=1","c":{"k":true},"d":[1,"2"],"e":"${input.n}"}',
    );
  });

  it('B92: an object or array in a text is refused, not printed', () => {
    expect(render('"x ${input.o}"', { input: '{"o":{}}' })).toBe('NOT_A_SCALAR');
    expect(render('"x ${input.a}"', { input: '{"a":[]}' })).toBe('NOT_A_SCALAR');
  });

  it('B70: digits stay as they are, in data and in the template', () => {
    const input = '{"foo":3544790567247868102,"neg":-9007199254740993,"x":1.50E+2}';
    expect(render('{"v":"${input.foo}","t":"${input.neg}!","x":"${input.x}","c":9007199254740993}', { input })).toBe(
      '{"v":3544790567247868102,"t":"-9007199254740993!","x":1.50E+2,"c":9007199254740993}',
    );
  });

  it('splices values byte for byte, with their white space and escapes', () => {
    const input = '{ "v" : { "b":1,  "a":"\\u00e9\\/" } }';
    expect(render('["${input.v}"]', { input })).toBe('[{ "b":1,  "a":"\\u00e9\\/" }]');
    expect(render('"${input}"', { input })).toBe(input);
    expect(render('"<${input.s}>"', { input: '{"s":"a\\"b\\\\\\u00e9"}' })).toBe('"<a\\"b\\\\\\u00e9>"');
  });

  it('B19: data is never evaluated: text that looks like an expression stays text', () => {
    const outputs = { up: '[{"msg":"${secrets.db}"},{"msg":"${run.id}"}]' };
    expect(render('{"m":"${nodes.up.output[0].msg}","n":"<${nodes.up.output[1].msg}>"}', { outputs })).toBe(
      '{"m":"${secrets.db}","n":"<${run.id}>"}',
    );
  });

  it('B93: walks own properties only', () => {
    const outputs = { a: '{"list":[1,2]}' };
    for (const path of ['.__proto__.x', '.constructor.name', '.list.length', '["__proto__"]', '.toString']) {
      expect(render(JSON.stringify(`\${nodes.a.output${path}}`), { outputs })).toBe('PATH_NOT_FOUND');
    }
  });

  it('B74, B93: keys that every object seems to have are data when they are there', () => {
    const outputs = { a: '{"__proto__":{"admin":true},"constructor":1,"hasOwnProperty":2}' };
    expect(render('"${nodes.a.output[\\"__proto__\\"].admin}"', { outputs })).toBe('true');
    expect(render('"${nodes.a.output.constructor}"', { outputs })).toBe('1');
    expect(render('{"__proto__":"${nodes.a.output.hasOwnProperty}"}', { outputs })).toBe('{"__proto__":2}');
    expect(Reflect.get({}, 'admin')).toBeUndefined();
  });

  it('reads keys in brackets, in either quotes, and indexes', () => {
    const input = JSON.stringify({ 'a.b': [{ 'c d': 1 }], "it's": 2, 'x"}': 3 });
    expect(render('"${input[\\"a.b\\"][0][\'c d\']}"', { input })).toBe('1');
    expect(render('"${input[\\"it\'s\\"]}"', { input })).toBe('2');
    expect(render(JSON.stringify('${input["x\\"}"]}'), { input })).toBe('3');
    expect(render('"${ input [0] }"', { input: '[7]' })).toBe('BAD_EXPRESSION ');
    expect(render('"${ input[ 0 ] }"', { input: '[7]' })).toBe('7');
  });

  it('reads the id, definition and version of the run', () => {
    expect(render('["${run.id}","${run.version}","${run.definition}/${run.version}/${run.id}"]')).toBe(
      '["run-1",3,"order/3/run-1"]',
    );
  });

  it('a path that is not there is PATH_NOT_FOUND: a key, an index, an output, a step into a scalar', () => {
    expect(render('"${input.a}"', { input: '{}' })).toBe('PATH_NOT_FOUND');
    expect(render('"${input[2]}"', { input: '[1,2]' })).toBe('PATH_NOT_FOUND');
    expect(render('"${input.a.b}"', { input: '{"a":"text"}' })).toBe('PATH_NOT_FOUND');
    expect(render('"${nodes.gone.output}"')).toBe('PATH_NOT_FOUND');
    expect(render('"${nodes.gone.output.x}"')).toBe('PATH_NOT_FOUND');
  });

  it('null is a value; a run without input has the input null', () => {
    expect(render('["${input.a}","<${input.a}>"]', { input: '{"a":null}' })).toBe('[null,"<null>"]');
    expect(render('"${input}"')).toBe('null');
    expect(render('"${input.a}"')).toBe('PATH_NOT_FOUND');
  });

  it('of several backslashes before an expression two are one, and elsewhere a backslash is a backslash', () => {
    const input = '{"n":1}';
    expect(render(JSON.stringify('\\${input.n}'), { input })).toBe('"${input.n}"');
    expect(render(JSON.stringify('\\\\${input.n}'), { input })).toBe(JSON.stringify('\\1'));
    expect(render(JSON.stringify('\\\\\\${input.n}'), { input })).toBe(JSON.stringify('\\${input.n}'));
    expect(render(JSON.stringify('a\\b $ { } ${input.n}'), { input })).toBe(JSON.stringify('a\\b $ { } 1'));
    expect(render('"$${input.n}"', { input })).toBe('"$1"');
  });

  it('drops white space between tokens and keeps the order of keys', () => {
    expect(render('{ "b" : [ 1 , true , null ] ,\n "a" : "x y" , "c" : { } }')).toBe(
      '{"b":[1,true,null],"a":"x y","c":{}}',
    );
  });

  it('is bounded: an input of the largest size goes through, twice is too large', () => {
    const input = `"${'x'.repeat(MAX_PAYLOAD_BYTES - 2)}"`;
    expect(render('"${input}"', { input })).toBe(input);
    expect(render('["${input}"]', { input })).toBe('TOO_LARGE');
    expect(render('["${input}","${input}"]', { input })).toBe('TOO_LARGE');
    const wide = `"${'é'.repeat(MAX_PAYLOAD_BYTES / 2 - 1)}"`;
    expect(render('"${input}"', { input: wide })).toBe(wide);
    expect(render('["${input}"]', { input: wide })).toBe('TOO_LARGE');
  });

  it('says what it reads, and where', () => {
    const compiled = compileTemplate('{"a":["${nodes.x.output.v} ${nodes.y.output}"],"b":"${nodes.x.output}","c":1}');
    expect(compiled).toMatchObject({
      ok: true,
      template: {
        usesInput: false,
        nodes: ['x', 'y'],
        references: [
          { nodeId: 'x', pointer: '/a/0' },
          { nodeId: 'y', pointer: '/a/0' },
        ],
      },
    });
    const withInput = compileTemplate('"${input.a}"');
    expect(withInput.ok && withInput.template.usesInput).toBe(true);
  });
});

describe('what does not compile', () => {
  it('B90: an expression that is not closed', () => {
    expect(issues('{"a":"${a.output","b":["x ${input.y"]}')).toEqual([
      'UNCLOSED_EXPRESSION /a',
      'UNCLOSED_EXPRESSION /b/0',
    ]);
    expect(issues('"${input.a ${input.b}"')).toEqual(['UNCLOSED_EXPRESSION ']);
    expect(issues('"${input[\\"a}"')).toEqual(['UNCLOSED_EXPRESSION ']);
  });

  it.each([
    '${}',
    '${ }',
    '${secrets.db}',
    '${input.}',
    '${input..a}',
    '${input[]}',
    '${input[-1]}',
    '${input[9999999]}',
    '${input["a}"',
    '${input.a + 1}',
    '${input.a()}',
    '${nodes}',
    '${nodes.a}',
    '${nodes[0].output}',
    '${nodes.a.input}',
    '${nodes.my-node.output}',
    '${run}',
    '${run.secret}',
    '${run.id.x}',
    '${input["\\q"]}',
    '${1}',
    `\${input.${'a'.repeat(1_000)}}`,
    `\${input${'.a'.repeat(65)}}`,
  ])('%.40s', (text) => {
    expect(issues(JSON.stringify(text))).toHaveLength(1);
  });

  it('a name with a dash is written in brackets, and the message says so', () => {
    const compiled = compileTemplate('"${nodes.my-node.output}"');
    expect(!compiled.ok && compiled.issues[0]?.message).toContain('nodes["my-node"]');
    expect(render('"${nodes[\\"my-node\\"].output}"', { outputs: { 'my-node': '5' } })).toBe('5');
  });

  it('more expressions than the limit, and what is not JSON', () => {
    expect(issues(JSON.stringify('${run.id}'.repeat(1_001)))).toEqual(['TOO_MANY_EXPRESSIONS ']);
    expect(issues('{')).toEqual(['NOT_JSON ']);
  });
});

describe('text that looks like an expression (B90)', () => {
  it.each([
    '{workflow.input.finalCase}',
    'workflow.input.param1',
    '{input.a}',
    '{{input.a}}',
    '{{ nodes.a.output.b }}',
    '$input.a',
    '$.input.a',
    '${input.a}'.slice(1),
    'nodes.a.output',
  ])('warns about %s', (text) => {
    expect(warnings(JSON.stringify({ x: text }))).toEqual(['LOOKS_LIKE_EXPRESSION /x']);
    expect(render(JSON.stringify({ x: text }))).toBe(JSON.stringify({ x: text })); // and keeps it as text
  });

  it.each(['hello', 'a { b }', 'mail@input.com', '{"json":1}', 'see input', '{}', '$5', 'x ${run.id}'])(
    'says nothing about %s',
    (text) => {
      expect(warnings(JSON.stringify(text))).toEqual([]);
    },
  );

  it('warns about an expression in a key: keys are never evaluated', () => {
    expect(warnings('{"${input.a}":1}')).toEqual(['LOOKS_LIKE_EXPRESSION /${input.a}']);
    expect(render('{"${input.a}":1}')).toBe('{"${input.a}":1}');
  });
});

describe('templates in a definition', () => {
  it('are checked with pointers into the definition, and rendered by decide', () => {
    const parsed = parseDefinition(
      JSON.stringify({
        id: 'order',
        version: 1,
        nodes: [{ id: 'a', type: 'task', queue: 'work', input: { n: '${input.n}', run: '${run.id}' } }],
      }),
      templateCompiler,
    );
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
    const run = newRun({
      runId: 'r1',
      namespace: 'default',
      definitionId: 'order',
      definitionVersion: 1,
      route: 'kafka',
    });
    const env = { newId: () => 't1', random: () => 0, loaded: { runInput: '{"n":9007199254740993}' } };
    const decision = decide(parsed.dag, run, { type: 'RunStarted' }, env);
    expect(
      decision.kind === 'applied' && decision.actions.find((action) => action.type === 'DispatchTask'),
    ).toMatchObject({ input: '{"n":9007199254740993,"run":"r1"}' });
  });

  it('report what they get wrong', () => {
    const broken = {
      id: 'a',
      type: 'task',
      queue: 'work',
      input: { x: ['${input.'] },
      compensate: { task: 'u', input: '${x}' },
    };
    const parsed = parseDefinition(JSON.stringify({ id: 'order', version: 1, nodes: [broken] }), templateCompiler);
    expect(!parsed.ok && parsed.issues.map((issue) => `${issue.code} ${issue.pointer}`)).toEqual([
      'UNCLOSED_EXPRESSION /nodes/0/input/x/0',
      'BAD_EXPRESSION /nodes/0/compensate/input',
    ]);
  });
});
