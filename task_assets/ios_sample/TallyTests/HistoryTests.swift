import XCTest
@testable import Tally

final class HistoryTests: XCTestCase {
    func testAnEmptyHistoryHasASummary() {
        XCTAssertEqual(History().summary(), "0 entries, total 0, largest 0, mean 0")
    }

    func testItSumsUp() {
        var history = History()
        history.add(3)
        history.add(8)
        history.add(2)
        XCTAssertEqual(history.entries, [3, 8, 2])
        XCTAssertEqual(history.summary(), "3 entries, total 13, largest 8, mean 4")
    }
}
