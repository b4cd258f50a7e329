// Every filter of supabase-js, each with the rows that it must leave.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { db, fine, rows, writing } from './clients.mjs'

const [DELTA, SOURCE, FALLS, LOCK] = ['Delta', 'Source', 'Falls', 'Lock']

const onProjects = [
  ['eq', (q) => q.eq('name', 'Delta'), [DELTA]],
  ['eq on a JSON member', (q) => q.eq('meta->depth->m', 12), [DELTA]],
  ['eq on a JSON member as text', (q) => q.eq('meta->depth->>m', '1'), [SOURCE]],
  ['neq', (q) => q.neq('name', 'Delta'), [SOURCE, FALLS, LOCK]],
  ['gt', (q) => q.gt('budget', 20), [DELTA]],
  ['gte', (q) => q.gte('budget', 20), [DELTA, SOURCE]],
  ['lt', (q) => q.lt('budget', 20), [LOCK]],
  ['lte', (q) => q.lte('budget', 20), [SOURCE, LOCK]],
  ['lte on a date', (q) => q.lte('started', '2026-01-05'), [DELTA, LOCK]],
  ['like', (q) => q.like('name', '%l%'), [DELTA, FALLS]],
  ['likeAllOf', (q) => q.likeAllOf('name', ['%l%', 'F%']), [FALLS]],
  ['likeAnyOf', (q) => q.likeAnyOf('name', ['D%', 'S%']), [DELTA, SOURCE]],
  ['ilike', (q) => q.ilike('name', 'l%'), [LOCK]],
  ['ilikeAllOf', (q) => q.ilikeAllOf('name', ['%L%', 'f%']), [FALLS]],
  ['ilikeAnyOf', (q) => q.ilikeAnyOf('name', ['d%', 'l%']), [DELTA, LOCK]],
  ['regexMatch', (q) => q.regexMatch('name', '^[DS].+(a|e)$'), [DELTA, SOURCE]],
  ['regexIMatch', (q) => q.regexIMatch('name', '^(delta|lock)$'), [DELTA, LOCK]],
  ['is null', (q) => q.is('budget', null), [FALLS]],
  ['is true', (q) => q.is('is_open', true), [DELTA, LOCK]],
  ['is false', (q) => q.is('is_open', false), [SOURCE]],
  ['isDistinct counts null as different', (q) => q.isDistinct('client_id', 1), [FALLS, LOCK]],
  ['in', (q) => q.in('name', ['Falls', 'Lock', 'Falls', 'a,b(c)']), [FALLS, LOCK]],
  ['in with numbers', (q) => q.in('id', [1, 4]), [DELTA, LOCK]],
  ['in with nothing', (q) => q.in('id', []), []],
  ['notIn', (q) => q.notIn('name', ['Falls', 'Lock']), [DELTA, SOURCE]],
  ['contains an array', (q) => q.contains('tags', ['water', 'mud']), [DELTA]],
  ['contains a document', (q) => q.contains('meta', { depth: { m: 1 } }), [SOURCE]],
  ['containedBy an array', (q) => q.containedBy('tags', ['water', 'sand']), [SOURCE, FALLS, LOCK]],
  ['containedBy a document', (q) => q.containedBy('meta', { depth: { m: 12 }, more: 1 }), [DELTA, FALLS, LOCK]],
  ['overlaps an array', (q) => q.overlaps('tags', ['mud', 'sand']), [DELTA]],
  ['match', (q) => q.match({ client_id: 1, name: 'Source', budget: undefined }), [SOURCE]],
  ['not is null', (q) => q.not('client_id', 'is', null), [DELTA, SOURCE, FALLS]],
  ['not in', (q) => q.not('name', 'in', '(Falls,Lock)'), [DELTA, SOURCE]],
  ['not cs', (q) => q.not('tags', 'cs', '{water}'), [SOURCE, LOCK]],
  ['or', (q) => q.or('name.eq.Lock,and(client_id.eq.1,budget.lt.50)'), [SOURCE, LOCK]],
  ['or with negations', (q) => q.or('not.and(client_id.eq.1,budget.gt.50),name.not.neq.Delta').neq('id', 3), [DELTA, SOURCE, LOCK]],
  ['two of or are joined by and', (q) => q.or('id.eq.1,id.eq.2').or('budget.eq.20,budget.is.null'), [SOURCE]],
  ['filter', (q) => q.filter('name', 'in', '("Delta",Lock)'), [DELTA, LOCK]],
  ['filter with not', (q) => q.filter('budget', 'not.lt', 20), [DELTA, SOURCE]],
  ['filter with any', (q) => q.filter('name', 'eq(any)', '{Delta,Lock}'), [DELTA, LOCK]],
  ['filter by related rows', (q) => q.not('tasks', 'is', null), [DELTA, FALLS], 'name, tasks()'],
  ['filter by no related row', (q) => q.is('clients', null), [LOCK], 'name, clients()'],
  ['filter on an inner relation', (q) => q.eq('clients.name', 'Nile'), [DELTA, SOURCE], 'name, clients!inner()'],
]

const onShifts = [
  ['rangeGt', (q) => q.rangeGt('hours', '[1,5)'), [2, 3]],
  ['rangeGte', (q) => q.rangeGte('hours', '[5,9)'), [2, 3]],
  ['rangeLt', (q) => q.rangeLt('hours', '[5,9)'), [1]],
  ['rangeLte', (q) => q.rangeLte('hours', '[5,9)'), [1, 2]],
  ['rangeAdjacent', (q) => q.rangeAdjacent('hours', '[9,12)'), [2, 3]],
  ['overlaps a range', (q) => q.overlaps('hours', '[4,6)'), [1, 2]],
  ['contains a range', (q) => q.contains('hours', '[6,8)'), [2]],
  ['containedBy a range', (q) => q.containedBy('hours', '[0,10)'), [1, 2]],
]

const onArticles = [
  ['textSearch', (q) => q.textSearch('words', "fat & 'cat'"), [1, 2]],
  ['textSearch with a configuration', (q) => q.textSearch('words', 'cats & !sat', { config: 'english' }), [2]],
  ['textSearch, plain', (q) => q.textSearch('words', 'the fat cats', { type: 'plain', config: 'english' }), [1, 2]],
  ['textSearch, phrase', (q) => q.textSearch('words', 'fat cats', { type: 'phrase', config: 'english' }), [1]],
  ['textSearch, web search', (q) => q.textSearch('words', '"fat cat" or rats', { type: 'websearch', config: 'english' }), [1, 3]],
  ['textSearch on text', (q) => q.textSearch('body', 'dogs', { config: 'simple' }), [3]],
  ['textSearch on text, stemmed', (q) => q.textSearch('body', 'dog', { type: 'plain', config: 'english' }), [3]],
]

for (const [name, filter, expected, columns = 'name'] of onProjects) {
  test(`${name} filters`, async () => {
    assert.deepEqual((await rows(filter(db.from('projects').select(columns)).order('id'))).map((row) => row.name), expected)
  })
}

for (const [table, cases] of [['shifts', onShifts], ['articles', onArticles]]) {
  for (const [name, filter, expected] of cases) {
    test(`${name} filters`, async () => {
      assert.deepEqual((await rows(filter(db.from(table).select('id')).order('id'))).map((row) => row.id), expected)
    })
  }
}

for (const option of ['referencedTable', 'foreignTable']) {
  test(`or on related rows, by ${option}`, async () => {
    const query = db.from('projects').select('name, tasks(title)').lte('id', 3).order('id')
    const found = await rows(query.or('title.like.s*,title.like.m*', { [option]: 'tasks' }))
    assert.deepEqual(found.map((row) => row.tasks.length), [1, 0, 1])
  })
}

writing('values of all signs are compared as they are', async () => {
  const names = [
    'a,b', 'a(b)', '"quoted"', "it's", 'back\\slash', 'per%cent', 'star*', 'under_score', 'a&b=c?d#e/f', 'plus+ and blank',
    'null', '{a}', 'eq.1', 'línea\nnueva', 'Ж漢字🙂', ' edges ', 'a.b:c',
  ]
  await fine(db.from('parcels').insert(names.map((name) => ({ name }))))
  for (const name of names) {
    assert.deepEqual(await rows(db.from('parcels').select('name').eq('name', name)), [{ name }])
  }
  const listed = names.filter((name) => !/["\\]/.test(name))
  assert.equal((await rows(db.from('parcels').select('name').in('name', listed))).length, listed.length)
})
