import { describe, expect, it } from 'vitest'
import { pageRequest, paginationOf } from './lists.ts'

describe('paginationOf', () => {
  it.each([
    [{}, 25, { totalRecords: 25, currentPage: 1, totalPages: 1, nextPage: null, prevPage: null }],
    [{}, 0, { totalRecords: 0, currentPage: 1, totalPages: 0, nextPage: null, prevPage: null }],
    [{ limit: 10 }, 25, { totalRecords: 25, currentPage: 1, totalPages: 3, nextPage: 2, prevPage: null }],
    [
      { limit: 10, page: 3 },
      25,
      { totalRecords: 25, currentPage: 3, totalPages: 3, nextPage: null, prevPage: 2 },
    ],
    [
      { limit: 10, page: 9 },
      25,
      { totalRecords: 25, currentPage: 9, totalPages: 3, nextPage: null, prevPage: 3 },
    ],
    [{ page: 5 }, 3, { totalRecords: 3, currentPage: 1, totalPages: 1, nextPage: null, prevPage: null }],
  ])('%j of %i rows', (query, total, expected) => {
    expect(paginationOf(total, pageRequest(query))).toEqual(expected)
  })
})
