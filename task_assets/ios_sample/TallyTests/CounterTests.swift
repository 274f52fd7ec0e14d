import XCTest
@testable import Tally

final class CounterTests: XCTestCase {
    func testItStartsAtZero() {
        XCTAssertEqual(Counter().value, 0)
    }

    func testItGoesUpAndDown() {
        var counter = Counter()
        counter.increase()
        counter.increase()
        counter.decrease()
        XCTAssertEqual(counter.value, 1)
    }

    func testItNeverGoesBelowZero() {
        var counter = Counter()
        counter.step = 5
        counter.increase()
        counter.step = 7
        counter.decrease()
        XCTAssertEqual(counter.value, 0)
    }
}
