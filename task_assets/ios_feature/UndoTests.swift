import XCTest
@testable import Tally

final class UndoTests: XCTestCase {
    func testNothingIsTakenBackAtTheStart() {
        var counter = Counter()
        counter.undo()
        XCTAssertEqual(counter.value, 0)
    }

    func testEachStepIsTakenBack() {
        var counter = Counter()
        counter.increase()
        counter.step = 10
        counter.increase()
        counter.decrease()
        XCTAssertEqual(counter.value, 1)
        counter.undo()
        XCTAssertEqual(counter.value, 11)
        counter.undo()
        XCTAssertEqual(counter.value, 1)
        counter.undo()
        XCTAssertEqual(counter.value, 0)
        counter.undo()
        XCTAssertEqual(counter.value, 0)
    }

    func testAResetIsTakenBack() {
        var counter = Counter()
        counter.step = 4
        counter.increase()
        counter.reset()
        counter.decrease()
        counter.undo()
        XCTAssertEqual(counter.value, 0)
        counter.undo()
        XCTAssertEqual(counter.value, 4)
    }
}
