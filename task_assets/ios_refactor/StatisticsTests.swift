import XCTest
@testable import Tally

final class StatisticsTests: XCTestCase {
    func testNoEntriesHaveFiguresOfZero() {
        let figures = Statistics(entries: [])
        XCTAssertEqual(figures.total, 0)
        XCTAssertEqual(figures.largest, 0)
        XCTAssertEqual(figures.mean, 0)
    }

    func testTheFiguresAreThoseOfTheEntries() {
        let figures = Statistics(entries: [7, 12, 2])
        XCTAssertEqual(figures.total, 21)
        XCTAssertEqual(figures.largest, 12)
        XCTAssertEqual(figures.mean, 7)
    }

    func testAHistoryTellsTheSameFigures() {
        var history = History()
        history.add(7)
        history.add(12)
        XCTAssertEqual(history.total, Statistics(entries: history.entries).total)
        XCTAssertEqual(history.summary(), "2 entries, total 19, largest 12, mean 9")
    }
}
